/**
 * This layer's part of an exchange: the Lamport times of everybody's status, who left, and the recent events.
 */
import { eventHeard } from './events.ts'
import type { SerfPushPull } from './message.ts'
import type { Pool } from './serf.ts'
import { announceJoin, leaveIntended, statusTimeTold } from './member-status.ts'

export function serfState(pool: Pool): SerfPushPull {
  const { serf } = pool
  const statusTimes = new Map<string, number>()
  const leftMembers: string[] = []
  for (const [name, { statusTime, status }] of serf.standings) {
    statusTimes.set(name, statusTime)
    if (status === 'left') leftMembers.push(name)
  }
  return {
    type: 'serf-push-pull',
    time: serf.clock.time,
    statusTimes,
    leftMembers,
    eventTime: serf.eventClock.time,
    events: serf.events.list(),
    queryTime: serf.queryClock.time,
  }
}

/** `skipEvents`: what happened before is not told. */
export function mergeSerfState(pool: Pool, state: SerfPushPull, skipEvents: boolean): void {
  const { serf, swim } = pool
  // Clocks are told as the next time, so the newest message is one older.
  witness(pool, state)
  const left = new Set(state.leftMembers)
  for (const node of left) {
    const standing = serf.standings.get(node)
    // Of unknown ones there is nothing to keep, and a known leave is no news: its time would grow for ever.
    if (standing === undefined || standing.status === 'left') continue
    if (standing.member === swim.self && serf.leave === null) {
      announceJoin(pool)
      continue
    }
    // The leave came after the status time that is told, and its own time is not told.
    leaveIntended(pool, { node, time: (state.statusTimes.get(node) ?? 0) + 1, prune: false })
  }
  for (const [node, time] of state.statusTimes) {
    if (!left.has(node)) statusTimeTold(pool, { node, time })
  }
  if (skipEvents) serf.eventMinTime = Math.max(serf.eventMinTime, state.eventTime)
  for (const { time, events } of state.events) {
    for (const event of events) eventHeard(pool, time, event)
  }
}

function witness(pool: Pool, state: SerfPushPull): void {
  const { serf, swim } = pool
  const { time, eventTime, queryTime } = state
  const heard = [
    time < 1 || serf.clock.witness(time - 1),
    eventTime < 1 || serf.eventClock.witness(eventTime - 1),
    queryTime < 1 || serf.queryClock.witness(queryTime - 1),
  ]
  swim.counters.timesRefused += heard.filter((fine) => !fine).length
}
