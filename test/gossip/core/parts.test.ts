/** The small parts of the core, each by its own rules. */
import t from 'tap'
import { Awareness } from '../../../src/gossip/core/awareness.ts'
import { Broadcasts } from '../../../src/gossip/core/broadcasts.ts'
import { EventRing, ringBytesMax } from '../../../src/gossip/core/event-ring.ts'
import {
  RecentIntents,
  recentIntentMs,
  recentIntentsMax,
} from '../../../src/gossip/core/intents.ts'
import { LamportClock, lamportJumpMax, lamportMax } from '../../../src/gossip/core/lamport.ts'
import { Members, newMember } from '../../../src/gossip/core/members.ts'
import type { PacketMessage } from '../../../src/gossip/core/message.ts'
import { stallAllowanceOf } from '../../../src/gossip/core/stall-allowance.ts'
import {
  lanProfile,
  localProfile,
  pushPullIntervalMs,
  retransmitLimit,
  suspicionTimes,
} from '../../../src/gossip/core/profile.ts'
import { QueryRing } from '../../../src/gossip/core/query-ring.ts'
import {
  confirm,
  deadlineOf,
  describeEvidence,
  type Suspicion,
} from '../../../src/gossip/core/suspicion.ts'
import { compatible, ownVersions } from '../../../src/gossip/core/versions.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import { alive } from './lab.ts'

void t.test('times scale with the size of the pool', (t) => {
  //       members  retransmits  push/pull s  suspicion min s  confirmations
  const table = [
    [1, 4, 30, 4, 0],
    [3, 4, 30, 4, 0],
    [4, 8, 30, 4, 2],
    [9, 8, 30, 4, 2],
    [10, 8, 30, 4, 2],
    [32, 8, 30, 6.02, 2],
    [33, 8, 60, 6.07, 2],
    [64, 8, 60, 7.22, 2],
    [65, 8, 90, 7.25, 2],
    [100, 12, 90, 8, 2],
    [1_000, 16, 180, 12, 2],
  ] as const
  for (const [members, retransmits, pushPullS, minS, confirmations] of table) {
    const { minMs, maxMs, confirmationsWanted } = suspicionTimes(lanProfile, {
      members,
      living: members,
    })
    t.equal(retransmitLimit(lanProfile, members), retransmits, `retransmits of ${members}`)
    t.equal(pushPullIntervalMs(lanProfile, members), pushPullS * 1_000, `exchanges of ${members}`)
    t.equal(Math.round(minMs / 10) / 100, minS, `suspicion among ${members}`)
    t.equal(maxMs, 6 * minMs)
    t.equal(confirmationsWanted, confirmations)
  }
  const ten = { members: 10, living: 10 }
  t.equal(suspicionTimes(localProfile, ten).minMs, 3_000, 'one machine is less')
  t.equal(
    retransmitLimit(localProfile, 3),
    4,
    'pings to one member do not use up the news for another',
  )
  const { confirmationsWanted } = suspicionTimes(lanProfile, { members: 5, living: 3 })
  t.equal(confirmationsWanted, 0, 'nobody waits for the word of those who left')
  t.end()
})

void t.test(
  'whoever is drawn for is not missed while there is room, and all come as often',
  (t) => {
    const members = new Members(seededRandom(1))
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      members.add(newMember({ ...alive(name), name, versions: ownVersions, reach: 'untried' }, 0))
    }
    const wanted = ['b', 'd', 'e']
    let missed = 0
    const first = new Map(wanted.map((name) => [name, 0]))
    for (let round = 0; round < 3_000; round += 1) {
      const names = members.pick(3, ({ name }) => wanted.includes(name)).map(({ name }) => name)
      missed += wanted.filter((name) => !names.includes(name)).length
      const [leads = ''] = names
      first.set(leads, (first.get(leads) ?? 0) + 1)
    }
    t.equal(missed, 0)
    for (const count of first.values()) t.ok(count > 850 && count < 1_150, `${count} of 3000`)
    t.equal(members.pick(2, () => true).length, 2)
    t.end()
  },
)

function suspicion(confirmationsWanted: number): Suspicion {
  return {
    by: 'a',
    evidence: { type: 'probe', helpers: 3, nacks: 2, stream: { type: 'no-answer' } },
    toldBy: null,
    incarnation: 1,
    minMs: 4_000,
    maxMs: 24_000,
    confirmationsWanted,
    confirmedBy: [],
    allowance: stallAllowanceOf(4_000),
    startedAt: 100,
    ended: null,
  }
}

void t.test('every confirmation shortens the suspicion, down to the shortest', (t) => {
  const lonely = suspicion(0)
  t.equal(deadlineOf(lonely), 4_100, 'none is expected: the shortest applies at once')
  t.notOk(confirm(lonely, 'b'))
  const shared = suspicion(2)
  t.equal(deadlineOf(shared), 24_100)
  t.notOk(confirm(shared, 'a'), 'the first accuser does not confirm')
  t.ok(confirm(shared, 'b'))
  t.equal(
    Math.round(deadlineOf(shared)),
    Math.round(100 + 24_000 - (20_000 * Math.log(2)) / Math.log(3)),
  )
  t.notOk(confirm(shared, 'b'), 'nor does the same one twice')
  t.ok(confirm(shared, 'c'))
  t.equal(deadlineOf(shared), 4_100)
  t.notOk(confirm(shared, 'd'), 'more are not wanted')
  t.match(describeEvidence(shared.evidence), 'no answer over UDP, 3 others asked, 2 of them')
  t.end()
})

void t.test('the health score stays within its bounds and scales times', (t) => {
  const awareness = new Awareness(8)
  awareness.apply(-1)
  t.equal(awareness.score, 0)
  t.equal(awareness.scale(500), 500)
  awareness.apply(3)
  t.equal(awareness.scale(500), 2_000)
  awareness.apply(30)
  t.equal(awareness.score, 7)
  t.end()
})

function news(name: string): PacketMessage {
  return { type: 'dead', incarnation: 1, node: name, from: 'x' }
}

function taken(queue: Broadcasts, bytes: number, transmitsMax = 3): string {
  const into: PacketMessage[] = []
  queue.take(into, bytes, { overhead: 2, transmitsMax, countMax: 255 })
  return into.map((message) => (message.type === 'dead' ? message.node : '?')).join()
}

void t.test('the least told news goes first, a few times each', (t) => {
  const queue = new Broadcasts(10)
  queue.add('a', news('a'), 100)
  queue.add('b', news('b'), 100)
  t.equal(taken(queue, 102), 'a')
  t.equal(taken(queue, 102), 'b', 'told less often than a')
  queue.add('c', news('c'), 100)
  t.equal(taken(queue, 204), 'c,a')
  t.equal(taken(queue, 1_000), 'b,c,a')
  t.equal(taken(queue, 1_000), 'b,c')
  t.equal(taken(queue, 1_000), '', 'each was told three times')
  t.end()
})

void t.test('newer news takes the place of older, and begins anew', (t) => {
  const queue = new Broadcasts(10)
  queue.add('a', news('old'), 100)
  t.equal(taken(queue, 1_000), 'old')
  queue.add('a', news('new'), 100)
  t.equal(queue.size, 1)
  t.equal([1, 2, 3, 4].map(() => taken(queue, 1_000)).join(' '), 'new new new ')
  t.end()
})

void t.test('news that does not fit waits, and smaller news goes', (t) => {
  const queue = new Broadcasts(10)
  queue.add('large', news('large'), 300)
  queue.add('small', news('small'), 50)
  t.equal(taken(queue, 100), 'small')
  t.equal(taken(queue, 400), 'large,small')
  t.end()
})

void t.test('a full queue gives up what was told most often', (t) => {
  const queue = new Broadcasts(2)
  queue.add('a', news('a'), 10)
  taken(queue, 1_000)
  queue.add('b', news('b'), 10)
  queue.add('c', news('c'), 10)
  t.notOk(queue.has('a'))
  t.equal(queue.dropped, 1)
  t.equal(taken(queue, 1_000), 'b,c')
  t.end()
})

void t.test('Lamport time goes past what it sees, and no forged time runs it to its end', (t) => {
  const clock = new LamportClock()
  t.equal(clock.time, 1)
  t.equal(clock.increment(), 2)
  t.ok(clock.witness(1))
  t.equal(clock.time, 2)
  t.ok(clock.witness(2))
  t.equal(clock.time, 3)
  t.ok(clock.witness(40))
  t.equal(clock.time, 41)
  for (const forged of [41 + lamportJumpMax + 1, Number.MAX_SAFE_INTEGER, 2 ** 63, -1, NaN, 0.5]) {
    t.notOk(clock.witness(forged), `${forged}`)
  }
  t.equal(clock.time, 41)
  while (clock.time < lamportMax) clock.witness(Math.min(clock.time + lamportJumpMax, lamportMax))
  t.equal(clock.increment(), lamportMax, 'at the end it stands still')
  t.end()
})

void t.test(
  'intents about unknown names: the newest counts, for five minutes, within a bound',
  (t) => {
    const recent = new RecentIntents()
    t.ok(recent.add('a', 'join', 5, 0))
    t.notOk(recent.add('a', 'leave', 5, 0), 'not newer')
    t.ok(recent.add('a', 'leave', 6, 0))
    t.match(recent.take('a', 10), { kind: 'leave', time: 6 })
    t.equal(recent.take('a', 10), null)
    recent.add('b', 'join', 1, 0)
    t.equal(recent.take('b', recentIntentMs + 1), null)
    for (let index = 0; index < 3 * recentIntentsMax; index += 1)
      recent.add(`n${index}`, 'join', 1, 0)
    t.equal(recent.size, recentIntentsMax)
    recent.reap(recentIntentMs + 1)
    t.equal(recent.size, 0)
    t.end()
  },
)

void t.test('the ring of events tells news from old', (t) => {
  const ring = new EventRing()
  const event = { name: 'deploy', payload: Uint8Array.of(1) }
  t.ok(ring.add(7, event, 8))
  t.notOk(ring.add(7, event, 8), 'known')
  t.ok(ring.add(7, { name: 'deploy', payload: Uint8Array.of(2) }, 8), 'other bytes')
  t.ok(ring.add(7 + 512, event, 520), 'the same slot, a later time')
  t.notOk(ring.add(7, event, 520), 'too old to tell')
  t.equal(ring.list().length, 1)
  const large = new Uint8Array(9_000)
  for (let time = 1_000; time < 1_500; time += 1)
    ring.add(time, { name: 'x', payload: large }, time)
  t.ok(ring.list().length <= ringBytesMax / 9_000, 'all events together have a bound')
  t.equal(
    ring.list().reduce((newest, { time }) => Math.max(newest, time), 0),
    1_499,
  )
  t.end()
})

void t.test('the ring of queries tells news from old', (t) => {
  const ring = new QueryRing()
  t.ok(ring.add(3, 77, 4))
  t.notOk(ring.add(3, 77, 4))
  t.ok(ring.add(3, 78, 4))
  t.notOk(ring.add(3, 79, 3 + 513))
  t.end()
})

void t.test('rings take nothing of a time that has no slot, and so many of one time', (t) => {
  const event = (byte: number) => ({ name: 'deploy', payload: Uint8Array.of(byte) })
  const events = new EventRing()
  t.notOk(events.add(487, event(0), 1_000), 'more than 512 times ago')
  t.ok(events.add(488, event(0), 1_000))
  t.ok(events.add(1_000, event(0), 1_000))
  t.notOk(events.add(488, event(1), 1_000), 'a later time has its slot')
  for (let byte = 1; byte < 32; byte += 1) t.ok(events.add(1_000, event(byte), 1_000))
  t.notOk(events.add(1_000, event(32), 1_000), 'the 33rd of one time')
  const held = events.list().map(({ time, events }) => [time, events.length])
  t.same(held, [[1_000, 32]])
  const queries = new QueryRing()
  t.notOk(queries.add(487, 0, 1_000), 'more than 512 times ago')
  t.ok(queries.add(1_000, 0, 1_001))
  t.notOk(queries.add(488, 0, 1_000), 'a later time has its slot')
  for (let id = 1; id < 64; id += 1) t.ok(queries.add(1_000, id, 1_001))
  t.notOk(queries.add(1_000, 64, 1_001), 'the 65th of one time')
  t.end()
})

void t.test('versions fit when each speaks what the other understands', (t) => {
  const table = [
    ['the same', {}, true],
    ['an older one', { protocolMax: 4 }, true],
    ['a layer above that does not know ours', { delegateMax: 4, delegateCurrent: 4 }, false],
    ['a protocol we do not know', { protocolMax: 9, protocolCurrent: 9 }, false],
    ['one that does not know ours', { protocolMin: 3, protocolCurrent: 3 }, false],
    ['no versions at all', { protocolMin: 0, protocolMax: 0, protocolCurrent: 0 }, false],
    ['upside down', { protocolMin: 5, protocolMax: 1 }, false],
    ['no layer above', { delegateMin: 0, delegateMax: 0, delegateCurrent: 0 }, false],
  ] as const
  for (const [name, versions, fits] of table) {
    t.equal(compatible(ownVersions, { ...ownVersions, ...versions }), fits, name)
  }
  t.end()
})
