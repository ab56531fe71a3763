/**
 * The protocol as conversations that a person can read: each script beside this file says what happens to a few servers, and
 * under each command stands all that they say, write and become. `TAP_SNAPSHOT=1` writes the conversations anew; the
 * commit that changes one explains why.
 */
import t from 'tap'
import { checkTraces } from '../../support/golden-traces.ts'
import { run } from './script.ts'

await checkTraces(new URL('.', import.meta.url), run)

void t.test('a script runs the same again, and says where it is wrong', async (t) => {
  const script = 'servers a b c\npass 1000\n'
  t.equal(run(run(script)), run(script))
  t.not(run(script), script)
  t.throws(() => run('servers a\nwave a\n'), { message: 'line 2, wave a' })
})
