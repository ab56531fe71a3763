/** User events and queries, and what hostile ones cannot do. */
import t from 'tap'
import { eventBytesMax } from '../../../src/gossip/core/event-ring.ts'
import { recentIntentsMax } from '../../../src/gossip/core/intents.ts'
import type { PacketMessage, SerfMessage, SerfQuery } from '../../../src/gossip/core/message.ts'
import { ownQueriesMax, relayFactorMax } from '../../../src/gossip/core/queries.ts'
import { ownVersions } from '../../../src/gossip/core/versions.ts'
import { randomInteger, seededRandom } from '../../../src/lib/random.ts'
import { simCodec } from '../sim/codec.ts'
import { addressOf, alive, dead, entry, exchange, Lab, stateOf, suspect } from './lab.ts'

const seed = Number(process.env['SEED'] ?? 1)
const payload = Uint8Array.of(1, 2, 3)

function event(time: number, name = 'deploy'): SerfMessage {
  return { type: 'user-event', time, name, payload, coalesce: false }
}

function query(more: Partial<SerfQuery> = {}): SerfQuery {
  return {
    type: 'query',
    time: 5,
    id: 99,
    endpoint: addressOf('a'),
    sourceNode: 'a',
    filters: [],
    wantsAck: false,
    noBroadcast: false,
    relayFactor: 0,
    timeoutNs: 1e9,
    name: 'uptime',
    payload,
    ...more,
  }
}

void t.test('an event is told once and passed on once', (t) => {
  const lab = Lab.with(['a'])
  lab.hearSerf(event(5))
  lab.hearSerf(event(5))
  t.match(lab.happened('user-event'), [{ time: 5, name: 'deploy', payload }])
  t.equal(lab.happened('user-event').length, 1)
  t.equal(lab.core.sizes.events, 1)
  t.equal(lab.core.lamportTimes.events, 6)
  t.end()
})

void t.test('an own event is heard by oneself too, and has a bound', (t) => {
  const lab = Lab.with(['a'])
  lab.command((core, now) => core.userEvent({ name: 'x', payload }, true, now))
  t.equal(lab.happened('user-event').length, 1)
  lab.pass(300)
  t.match(lab.sentSerf('user-event')[0], { name: 'x', coalesce: true, time: 2 })
  const large = new Uint8Array(600)
  t.throws(() => lab.core.userEvent({ name: 'x', payload: large }, false, lab.now), {
    code: 'too_large',
  })
  t.end()
})

void t.test('a newcomer is told of past events only if it wants', (t) => {
  for (const replay of [false, true]) {
    const lab = new Lab()
    const id = lab.command((core, now) => core.join(addressOf('a'), replay, now))
    const events = [{ time: 7, events: [{ name: 'old', payload }] }]
    const state = stateOf([entry('a', 'alive')], { eventTime: 8, events })
    lab.command((core, now) => core.exchanged(id, state, now))
    t.equal(lab.happened('user-event').length, replay ? 1 : 0)
    lab.hearSerf(event(8))
    t.equal(lab.happened('user-event').length, replay ? 2 : 1, 'what is new is told in any case')
  }
  t.end()
})

void t.test(
  'a query is handed over once, acknowledged if wanted, and the answer goes to who asked',
  (t) => {
    const lab = Lab.with(['a'])
    lab.hearSerf(query({ wantsAck: true }))
    lab.hearSerf(query({ wantsAck: true }))
    t.equal(lab.happened('query').length, 1)
    t.equal(lab.core.sizes.queries, 1)
    t.match(lab.sentSerf('query-response'), [{ id: 99, time: 5, from: 'me', flags: 1 }])
    lab.forget()
    lab.command((core, now) => core.respond(query(), payload, now))
    t.match(lab.packets[0]?.to, addressOf('a'))
    t.match(lab.sentSerf('query-response'), [{ id: 99, flags: 0, payload }])
    lab.hearSerf(query({ id: 100, noBroadcast: true }))
    t.equal(lab.core.sizes.queries, 1, 'not passed on when not wanted')
    t.end()
  },
)

void t.test('the answers to an own query come until its time is over, once from each', (t) => {
  const lab = Lab.with(['a', 'b'])
  const question = { name: 'uptime', payload, filters: [], wantsAck: true, timeoutMs: 2_000 }
  const id = lab.command((core, now) => core.query(question, now))
  t.equal(lab.happened('query').length, 1, 'oneself is asked too')
  lab.pass(300)
  const time = lab.sentSerf('query')[0]?.time ?? -1
  for (const from of ['a', 'b', 'a']) {
    lab.hearSerf({ type: 'query-response', id, time, from, flags: 1, payload: new Uint8Array() })
    lab.hearSerf({ type: 'query-response', id, time, from, flags: 0, payload })
  }
  lab.hearSerf({ type: 'query-response', id, time: time + 1, from: 'c', flags: 0, payload })
  const answered = lab.happened('query-answered')
  t.same(
    answered.filter(({ ack }) => ack).map(({ from }) => from),
    ['me', 'a', 'b'],
  )
  t.same(
    answered.filter(({ ack }) => !ack).map(({ from }) => from),
    ['a', 'b'],
  )
  lab.pass(2_000)
  t.match(lab.happened('query-ended'), [{ id, answers: 2 }])
  for (let count = 0; count < ownQueriesMax; count += 1) lab.core.query(question, lab.now)
  t.throws(() => lab.core.query(question, lab.now), { code: 'overloaded' })
  t.end()
})

void t.test('a message to be relayed goes on as it is', (t) => {
  const lab = Lab.with(['a'])
  lab.hearSerf({ type: 'relay', destination: addressOf('a'), node: 'a', bytes: payload })
  t.match(lab.packets, [{ to: addressOf('a'), messages: [{ type: 'user', bytes: payload }] }])
  t.end()
})

void t.test('a message to be relayed goes to members only', (t) => {
  const lab = Lab.with(['a'])
  lab.hearSerf({ type: 'relay', destination: addressOf('x'), node: 'a', bytes: payload })
  t.equal(lab.packets.length, 0)
  t.equal(lab.core.counters.relaysRefused, 1)
  t.end()
})

void t.test('an answer takes as many other ways as it is asked to, up to a bound', (t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  // asked for, ways of the answer
  for (const [relayFactor, ways] of [
    [0, 0],
    [2, 2],
    [255, relayFactorMax],
  ] as const) {
    const lab = Lab.with(names)
    lab.command((core, now) => core.respond(query({ relayFactor }), payload, now))
    t.match(lab.sentSerf('query-response'), [{ id: 99, payload }])
    const relays = lab.sentSerf('relay')
    t.equal(relays.length, ways)
    for (const relay of relays) t.match(relay, { destination: addressOf('a'), node: 'a' })
    const helpers = lab.packets.slice(1).map(({ to }) => to.port)
    t.equal(new Set(helpers).size, ways, 'each by another member')
    t.notOk(helpers.includes(addressOf('a').port))
  }
  const old = new Lab()
  old.hear(alive('b', { versions: { ...ownVersions, delegateMax: 4 } }))
  old.forget()
  old.command((core, now) => core.respond(query({ relayFactor: 3 }), payload, now))
  t.equal(old.sentSerf('relay').length, 0, 'not by those that do not know how')
  t.end()
})

void t.test('who bears the same name elsewhere gets its answer there', (t) => {
  const lab = Lab.with(['a'])
  lab.command((core, now) => core.respond(query({ sourceNode: 'me' }), payload, now))
  t.match(lab.packets[0], { to: addressOf('a') })
  t.match(lab.sentSerf('query-response'), [{ id: 99 }])
  t.end()
})

void t.test('what does not fit into a packet is not queued for one', (t) => {
  const lab = Lab.with(['a'])
  lab.hearSerf({
    type: 'user-event',
    time: 5,
    name: 'x',
    payload: new Uint8Array(5_000),
    coalesce: false,
  })
  t.equal(lab.happened('user-event').length, 1)
  t.equal(lab.core.sizes.events, 0)
  t.equal(lab.core.counters.newsTooLarge, 1)
  lab.hearSerf({
    type: 'user-event',
    time: 6,
    name: 'x',
    payload: new Uint8Array(eventBytesMax),
    coalesce: false,
  })
  t.equal(lab.core.counters.eventsRefused, 1)
  t.end()
})

void t.test('forged Lamport times are refused and counted', (t) => {
  const lab = Lab.with(['a'])
  for (const time of [2 ** 52, Number.MAX_SAFE_INTEGER, 2 ** 64, -5, NaN]) {
    lab.hearSerf({ type: 'leave-intent', node: 'a', time, prune: true })
    lab.hearSerf({ type: 'join-intent', node: 'me', time })
    lab.hearSerf(event(time))
    lab.hearSerf(query({ time }))
    exchange(
      lab,
      stateOf([], {
        time,
        eventTime: time,
        queryTime: time,
        leftMembers: ['a'],
        statusTimes: new Map([['a', time]]),
      }),
    )
  }
  t.equal(lab.status('a'), 'alive')
  t.ok(lab.core.counters.timesRefused >= 20)
  t.same(lab.core.lamportTimes, { members: 1, events: 1, queries: 1 })
  t.end()
})

void t.test(`random and hostile messages break nothing and grow nothing (seed ${seed})`, (t) => {
  const random = seededRandom(seed)
  const names = ['me', 'a', 'b', 'c', '', 'n'.repeat(500)]
  const numbers = [0, 1, 2, 3, 500, 2 ** 20, 2 ** 32 - 1, 2 ** 32, 2 ** 52, 2 ** 53, -1, 0.5, NaN]
  const pick = <T>(values: readonly T[], otherwise: T): T =>
    values[randomInteger(random, 0, values.length)] ?? otherwise
  const number = (): number => pick(numbers, 0)
  const name = (): string =>
    random.next() < 0.5 ? pick(names, '') : `ghost${randomInteger(random, 0, 100_000)}`
  const serf = (): SerfMessage =>
    pick<() => SerfMessage>(
      [
        () => ({ type: 'leave-intent', node: name(), time: number(), prune: random.next() < 0.5 }),
        () => ({ type: 'join-intent', node: name(), time: number() }),
        () => ({ type: 'user-event', time: number(), name: name(), payload, coalesce: true }),
        () => query({ time: number(), id: number(), wantsAck: true }),
        () => ({
          type: 'query-response',
          time: number(),
          id: number(),
          from: name(),
          flags: number(),
          payload,
        }),
      ],
      () => event(1),
    )()
  const packet = (): PacketMessage =>
    pick<() => PacketMessage>(
      [
        () => alive(name(), { incarnation: number() }),
        () => suspect(name(), name(), number()),
        () => dead(name(), name(), number()),
        () => ({ type: 'ping', sequence: number(), node: name(), source: null }),
        () => ({ type: 'ack', sequence: number(), payload: null }),
        () => ({ type: 'nack', sequence: number() }),
        () => ({
          type: 'indirect-ping',
          sequence: number(),
          target: addressOf('a'),
          node: name(),
          wantsNack: true,
          source: null,
        }),
        () => ({ type: 'user', bytes: simCodec.encode(serf()) }),
        () => ({ type: 'user', bytes: new Uint8Array(3) }),
      ],
      () => dead('a', 'b'),
    )()
  const lab = Lab.with(['a', 'b', 'c'])
  const states = ['alive', 'suspect', 'dead', 'left'] as const
  for (let count = 0; count < 60_000; count += 1) {
    lab.hear(packet())
    if (count % 100 === 0) lab.pass(randomInteger(random, 0, 400))
    if (count % 1_000 === 0) {
      const nodes = Array.from({ length: 20 }, () =>
        entry(name(), pick(states, 'alive'), { incarnation: number() }),
      )
      const statusTimes = new Map(Array.from({ length: 20 }, () => [name(), number()] as const))
      exchange(lab, stateOf(nodes, { time: number(), statusTimes, leftMembers: [name(), name()] }))
      lab.forget()
    }
  }
  const { sizes } = lab.core
  t.ok(sizes.members <= 10_000)
  t.ok(sizes.recentIntents <= recentIntentsMax)
  t.ok(sizes.intents <= 4_096 && sizes.events <= 4_096 && sizes.queries <= 4_096)
  t.match(lab.core.member('me'), { status: 'alive', state: 'alive' })
  t.ok(lab.incarnation('me') < 2 ** 32)
  for (const time of Object.values(lab.core.lamportTimes)) t.ok(time <= 2 ** 52)
  t.end()
})
