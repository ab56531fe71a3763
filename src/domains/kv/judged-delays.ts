/** What the leader makes of lock delays before it proposes a write with locks. */
import type { LeaderContext } from '../../rpc/method.ts'
import { lockDelayOf } from './held-queries.ts'
import { judgedDelaysVersion } from './model.ts'
import type { At, JudgedTimes } from './operation-commands.ts'
import type { Operation } from './operation-model.ts'
import { delayClock } from './services.ts'

export type JudgedDelays = {
  /** For the entry. */
  readonly times: JudgedTimes
  /**
   * For an answer from here: so those who wait for a lock fill no log. Null: no delay that is known here holds a lock back. One
   * of a session that ends while the write is on its way is refused in the write's own entry.
   */
  readonly heldBackAt: At | null
}

export function judgeDelays(
  context: LeaderContext,
  operations: readonly Operation[],
): JudgedDelays {
  const nowMs = Math.floor(context.clock.wallMs())
  const reader = context.read()
  const locks = operations.filter(({ type }) => type === 'lock')
  if (locks.length === 0) return { times: { nowMs }, heldBackAt: null }
  const isJudged = reader.commandVersion >= judgedDelaysVersion
  const clock = isJudged ? context.service(delayClock) : null
  const at: At = {
    index: reader.appliedIndex + 1,
    nowMs,
    isHeldBack: (delay) => clock?.isHeldBack(delay) ?? nowMs < delay.untilMs,
  }
  const heldBack = locks.some((operation) => {
    const delay = lockDelayOf(reader, operation)
    return delay !== null && at.isHeldBack(delay)
  })
  const times = { nowMs, ...(isJudged && { delaysSeen: reader.appliedIndex }) }
  return { times, heldBackAt: heldBack ? at : null }
}
