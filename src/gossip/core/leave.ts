/**
 * Going by choice, and giving others up.
 *
 * A graceful leave has three phases, each ended early when its news is told often enough: the intent, then the
 * failure detector's word that this member is gone, then a while in which it still answers while that word travels.
 */
import { assert } from '../../lib/assert.ts'
import { claimDead } from './alive-suspect-dead.ts'
import { broadcast, hasCompany, tell, type Pool } from './serf.ts'
import { leaveIntended } from './member-status.ts'

/** Begins the graceful leave; `left-pool` says when it is over. Once begun it cannot be taken back. */
export function startLeave(pool: Pool): void {
  const { serf, swim } = pool
  if (serf.leave !== null) return
  serf.leave = { phase: 'intent', deadline: swim.now + serf.options.broadcastTimeoutMs }
  intend(pool, swim.self.name, false)
  leaveTick(pool)
}

/**
 * Turns a failed member into one that left, everywhere, and with `prune` out of the lists. A living one objects and
 * stays. False: no member of that name is known.
 */
export function forceLeave(pool: Pool, node: string, prune: boolean): boolean {
  const { serf, swim } = pool
  assert(node !== swim.self.name, 'a member leaves by itself, not by force')
  if (!serf.standings.has(node)) return false
  intend(pool, node, prune)
  return true
}

export function leaveTick(pool: Pool): void {
  const { serf, swim } = pool
  const { leave } = serf
  if (leave === null) return
  const { name } = swim.self
  const over = swim.now >= leave.deadline
  if (leave.phase === 'intent' && (over || !hasCompany(pool) || !serf.intents.has(name))) {
    leave.phase = 'announce'
    leave.deadline = swim.now + serf.options.broadcastTimeoutMs
    swim.leaving = true
    const { incarnation } = swim.self
    claimDead(swim, { type: 'dead', incarnation, node: name, from: name }, null)
  } else if (leave.phase === 'announce' && (over || !swim.claims.has(name))) {
    leave.phase = 'drain'
    leave.deadline = swim.now + serf.options.leaveDrainMs
  } else if (leave.phase === 'drain' && over) {
    leave.phase = 'done'
    leave.deadline = Infinity
    tell(pool, { type: 'left-pool' })
  } else {
    return
  }
  if (!hasCompany(pool) && leave.phase !== 'done') leave.deadline = swim.now
  leaveTick(pool)
}

function intend(pool: Pool, node: string, prune: boolean): void {
  const { serf } = pool
  const time = serf.clock.increment()
  leaveIntended(pool, { node, time, prune })
  broadcast(pool, serf.intents, node, { type: 'leave-intent', time, node, prune })
}
