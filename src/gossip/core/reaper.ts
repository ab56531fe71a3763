/**
 * What is done now and then: members gone for too long are taken off the lists, failed ones are tried again.
 */
import { startExchange } from './exchange.ts'
import { randomInteger } from '../../lib/random.ts'
import { tell, viewOf, type Pool, type Standing } from './serf.ts'

export function reaperTick(pool: Pool): void {
  const { serf, swim } = pool
  if (swim.now >= serf.reapAt) {
    serf.reapAt = swim.now + serf.options.reapIntervalMs
    reap(pool)
  }
  if (swim.now >= serf.reconnectAt) {
    serf.reconnectAt = swim.now + serf.options.reconnectIntervalMs
    if (!swim.leaving) reconnect(pool)
  }
}

export function reaperDeadline(pool: Pool): number {
  return Math.min(pool.serf.reapAt, pool.serf.reconnectAt)
}

function reap(pool: Pool): void {
  const { serf, swim } = pool
  const { reconnectMs, tombstoneMs } = serf.options
  serf.recent.reap(swim.now)
  for (const standing of serf.standings.values()) {
    const { goneAt, status, member } = standing
    if (goneAt === null || member === swim.self) continue
    if (swim.now - goneAt < (status === 'failed' ? reconnectMs : tombstoneMs)) continue
    serf.standings.delete(member.name)
    tell(pool, { type: 'member-reaped', member: viewOf(standing) })
  }
  // The failure detector forgets last: until then it knows which claims are of the past.
  for (const member of swim.members.all()) {
    if (!member.retired || serf.standings.has(member.name)) continue
    if (swim.now - member.stateChangedAt >= tombstoneMs) swim.members.forget(member.name)
  }
}

/** Tries one failed member, with a probability of failed to living, so that the pool as a whole tries at a steady rate. */
function reconnect(pool: Pool): void {
  const { serf, swim } = pool
  const failed: Standing[] = []
  let living = 0
  for (const standing of serf.standings.values()) {
    if (standing.status === 'failed') failed.push(standing)
    else if (standing.status === 'alive') living += 1
  }
  if (failed.length === 0) return
  if (swim.random.next() > failed.length / Math.max(1, living)) return
  const standing = failed[randomInteger(swim.random, 0, failed.length)]
  if (standing === undefined) return
  startExchange(swim, standing.member.endpoint, { join: false, replayEvents: true })
}
