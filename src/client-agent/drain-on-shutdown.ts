/** An agent that leaves for good has its work moved away first, as fast as its jobs allow: `client.drain_on_shutdown`. */
import { drainSelf } from '../domains/nodes/agent-contracts.ts'
import { nsPerMs } from '../lib/duration.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { AskServer } from '../rpc/agent-contract.ts'
import type { DrainOnShutdown } from './client-config.ts'
import type { Runner } from './runner/runner.ts'

const askMs = 10_000
/** From the deadline of the drain to the end of what it stops then, besides the kill timeouts. */
export const drainSlackMs = 10_000

/** Never rejects. Resolves once nothing is left that is to move, or after the deadline and the slack. */
export async function drainNode(
  { deadlineMs, force, ignoreSystemJobs }: DrainOnShutdown,
  ask: AskServer,
  runner: Pick<Runner, 'untilDrained'>,
  log: Logger,
): Promise<void> {
  const spec = { deadlineNs: force ? -1 : deadlineMs * nsPerMs, ignoreSystemJobs }
  try {
    await ask(drainSelf, { spec }, askMs)
  } catch (error) {
    log.warn('the node is not drained before its agent stops', { error: textOf(error) })
    return
  }
  log.info('the node is drained before its agent stops', { deadlineMs, force })
  await runner.untilDrained(ignoreSystemJobs, deadlineMs + drainSlackMs)
}
