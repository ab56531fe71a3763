/** An agent that leaves for good has its work moved away first, as fast as its jobs allow: `client.drain_on_shutdown`. */
import { drainSelf } from '../domains/nodes/agent-contracts.ts'
import type { DrainSpec } from '../domains/nodes/model.ts'
import { delay } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { nsPerMs } from '../lib/duration.ts'
import { codeOf, textOf, type ErrorCode } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { AskServer } from '../rpc/agent-contract.ts'
import type { DrainOnShutdown } from './client-config.ts'
import type { Runner } from './runner/runner.ts'

const askMs = 10_000
/** A server is asked again until then: the uplink may be on its way to another one. */
const askingMsMax = 30_000
const retryMs = { first: 250, max: 5_000 } as const
/** From the deadline of the drain to the end of what it stops then, besides the kill timeouts. */
const slackMs = 10_000

/** After these another question helps no more. */
const refusals: readonly ErrorCode[] = [
  'invalid_argument',
  'permission_denied',
  'not_implemented',
  'incompatible',
]

/** Longer than this `drainNode` does not take. */
export function drainMsMax({ deadlineMs }: DrainOnShutdown): number {
  return Math.min(deadlineMs, askingMsMax) + askMs + deadlineMs + slackMs
}

export type Draining = {
  readonly ask: AskServer
  readonly runner: Pick<Runner, 'untilDrained'>
  readonly clock: Clock
  readonly log: Logger
}

/** Never rejects. Resolves once nothing is left that is to move, or after the deadline and the slack, or where no server drains it. */
export async function drainNode(drain: DrainOnShutdown, draining: Draining): Promise<void> {
  const { deadlineMs, force, ignoreSystemJobs } = drain
  const { runner, log } = draining
  const spec = { deadlineNs: force ? -1 : deadlineMs * nsPerMs, ignoreSystemJobs }
  if (!(await isAsked(spec, Math.min(deadlineMs, askingMsMax), draining))) return
  log.info('the node is drained before its agent stops', { deadlineMs, force })
  await runner.untilDrained(ignoreSystemJobs, deadlineMs + slackMs)
}

/** False: no server took it within `msMax`, or one refused. */
async function isAsked(
  spec: DrainSpec,
  msMax: number,
  { ask, clock, log }: Draining,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + msMax
  for (let waitMs: number = retryMs.first; ; waitMs = Math.min(retryMs.max, 2 * waitMs)) {
    try {
      await ask(drainSelf, { spec }, askMs)
      return true
    } catch (error) {
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0 || refusals.includes(codeOf(error))) {
        log.warn('the node is not drained before its agent stops', { error: textOf(error) })
        return false
      }
      log.debug('no server drains the node yet', { error: textOf(error) })
      await delay(clock, Math.min(waitMs, leftMs))
    }
  }
}
