/**
 * Gossip as conversations that a person can read: each script beside this file says what happens to a small pool, and under
 * each command stands all that its members say and see. `TAP_SNAPSHOT=1` writes the conversations anew; the commit
 * that changes one explains why.
 */
import { checkTraces } from '../../support/golden-traces.ts'
import { run } from './script.ts'

await checkTraces(new URL('.', import.meta.url), run)
