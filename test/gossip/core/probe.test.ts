/** Probes, those on behalf of others, and the suspicions that come of them. */
import t from 'tap'
import { relaysMax } from '../../../src/gossip/core/relay.ts'
import { ownVersions } from '../../../src/gossip/core/versions.ts'
import { endpointOf } from '../sim/world.ts'
import { addressOf, alive, dead, Lab, suspect } from './lab.ts'

const others = ['a', 'b', 'c', 'd', 'e']

void t.test('everyone is probed once in a round, one in each interval', (t) => {
  const lab = Lab.with(others)
  lab.pass(6_000, others)
  lab.forget()
  const order: string[] = []
  for (let second = 0; second < 60; second += 1) {
    lab.pass(1_000, others)
    order.push(...lab.sent('ping').map(({ node }) => node))
    lab.forget()
  }
  t.equal(order.length, 60, 'one a second')
  for (const name of others) {
    const times = order.flatMap((node, second) => (node === name ? [second] : []))
    const gaps = times.slice(1).map((second, index) => second - (times[index] ?? 0))
    t.ok(Math.max(...gaps) <= 9, 'at worst first in one round and last in the next')
    t.ok(times.length >= 11 && times.length <= 13, `${name} ${times.length} times in 12 rounds`)
  }
  t.equal(lab.core.counters.probesFailed, 0)
  t.ok(others.every((name) => lab.core.member(name)?.reach === 'direct'))
  t.end()
})

void t.test(
  'no answer: after the time-out others are asked and a stream is tried, at the end a suspicion',
  (t) => {
    const lab = Lab.with(others)
    const sequence = lab.untilPinged('a')
    lab.forget()
    lab.pass(498)
    t.equal(lab.sent('indirect-ping').length, 0)
    lab.pass(2)
    const requests = lab.sent('indirect-ping')
    t.equal(requests.length, 3)
    t.ok(requests.every(({ node, wantsNack }) => node === 'a' && wantsNack))
    t.match(lab.streamPings, [{ to: addressOf('a'), ping: { node: 'a', sequence } }])
    const asked = lab.packets.filter(({ messages }) => messages[0]?.type === 'indirect-ping')
    for (const { to } of asked.slice(0, 2)) lab.hear({ type: 'nack', sequence }, to)
    for (const { to } of asked.slice(0, 2)) lab.hear({ type: 'nack', sequence }, to)
    lab.command((core, now) =>
      core.streamAnswered(lab.streamPings[0]?.id ?? 0, { type: 'failed', text: 'refused' }, now),
    )
    t.equal(lab.state('a'), 'alive')
    lab.pass(500)
    t.equal(lab.state('a'), 'suspect')
    t.match(lab.core.member('a')?.suspicion, {
      by: 'me',
      evidence: {
        type: 'probe',
        helpers: 3,
        nacks: 2,
        stream: { type: 'failed', text: 'refused' },
      },
      ended: null,
    })
    t.equal(lab.core.healthScore, 1, 'one helper did not even say that it tried')
    t.match(lab.happened('member-suspected'), [{ member: { name: 'a', status: 'alive' } }])
    t.end()
  },
)

void t.test('an answer by any way ends the probe, and the way is remembered', (t) => {
  for (const [from, reach] of [
    [addressOf('a'), 'direct'],
    [addressOf('b'), 'indirect'],
  ] as const) {
    const lab = Lab.with(others)
    const sequence = lab.untilPinged('a')
    lab.pass(700)
    lab.hear({ type: 'ack', sequence, payload: null }, from)
    lab.pass(300)
    t.equal(lab.state('a'), 'alive')
    t.equal(lab.core.member('a')?.reach, reach)
    t.equal(lab.core.healthScore, 0)
  }
  t.end()
})

void t.test(
  'who answers over TCP alone is not suspected, and is named as such until UDP is back',
  (t) => {
    const lab = Lab.with(['a'])
    const sequence = lab.untilPinged('a')
    lab.pass(500)
    lab.command((core, now) =>
      core.streamAnswered(lab.streamPings[0]?.id ?? 0, { type: 'answered' }, now),
    )
    lab.pass(500)
    t.equal(lab.state('a'), 'alive')
    t.match(lab.happened('member-reach'), [{ member: { name: 'a', reach: 'stream-only' } }])
    lab.hear({ type: 'ack', sequence, payload: null }, addressOf('a'))
    lab.pass(2_000, ['a'])
    t.match(lab.happened('member-reach')[1], { member: { reach: 'direct' } })
    t.end()
  },
)

void t.test(
  'where nobody listens, own illness makes the wait no longer, and gets no worse',
  (t) => {
    for (const [outcome, state] of [
      [{ type: 'refused' }, 'suspect'],
      [{ type: 'failed', text: 'timed out' }, 'alive'],
    ] as const) {
      const lab = Lab.with(others)
      // Each objection makes it feel worse.
      for (let doubts = 0; doubts < 7; doubts += 1) {
        lab.hear(suspect('me', 'b', lab.incarnation('me')))
      }
      lab.forget()
      lab.untilPinged('b')
      const score = lab.core.healthScore
      t.ok(score > 0)
      lab.pass(500, ['a', 'c', 'd'])
      lab.command((core, now) => core.streamAnswered(lab.streamPings.at(-1)?.id ?? 0, outcome, now))
      lab.pass(500)
      t.equal(lab.state('b'), state, outcome.type)
      t.equal(lab.core.healthScore, score)
    }
    t.end()
  },
)

void t.test('old versions are not asked for what they do not know', (t) => {
  const lab = new Lab()
  for (const name of ['a', 'b']) {
    lab.hear(alive(name, { versions: { ...ownVersions, protocolMax: 2 } }))
  }
  lab.forget()
  const sequence = lab.untilPinged('a')
  lab.pass(500)
  t.match(lab.sent('indirect-ping'), [{ wantsNack: false, sequence }])
  t.equal(lab.streamPings.length, 0)
  lab.pass(500)
  t.equal(lab.core.healthScore, 1, 'without nacks a failed probe counts against the own health')
  t.match(lab.core.member('a')?.suspicion?.evidence, { stream: { type: 'not-tried' } })
  t.ok(lab.packets.every(({ checksum }) => !checksum))
  t.end()
})

void t.test('the worse the own health, the longer a probe waits', (t) => {
  const lab = Lab.with(['a'])
  for (let times = 0; times < 3; times += 1) lab.hear(suspect('me', 'a', lab.incarnation('me')))
  t.equal(lab.core.healthScore, 3)
  lab.forget()
  const sequence = lab.untilPinged('a')
  lab.pass(3_990)
  t.equal(lab.state('a'), 'alive')
  lab.hear({ type: 'ack', sequence, payload: null }, addressOf('a'))
  t.equal(lab.core.healthScore, 2, 'a good probe is a sign of health')
  t.end()
})

void t.test('a suspect is pinged and told in one packet', (t) => {
  const lab = Lab.with(others)
  lab.hear(suspect('a', 'b'))
  lab.forget()
  lab.untilPinged('a')
  const packet = lab.packets.find(({ messages: [first] }) => {
    return first?.type === 'ping' && first.node === 'a'
  })
  t.match(packet?.to, addressOf('a'))
  t.match(packet?.messages.slice(0, 2), [
    { type: 'ping', node: 'a' },
    { type: 'suspect', node: 'a', from: 'me', incarnation: 1 },
  ])
  t.end()
})

void t.test(
  'a suspect that does not object is dead, and it is said who suspected it and why',
  (t) => {
    const lab = Lab.with(others)
    lab.pass(20_000, others)
    lab.hear(suspect('a', 'b'), addressOf('c'))
    lab.pass(23_900, others)
    t.equal(lab.status('a'), 'alive', 'a lonely accuser leaves it long to object')
    lab.pass(200, others)
    t.equal(lab.status('a'), 'failed')
    t.match(lab.happened('member-failed')[0]?.member, {
      goneBy: 'me',
      suspicion: {
        by: 'b',
        evidence: { type: 'told', via: addressOf('c') },
        toldBy: 'c',
        confirmedBy: [],
        ended: { how: 'failed', by: 'me' },
      },
    })
    t.end()
  },
)

void t.test('with enough accusers a suspect is dead after the shortest time', (t) => {
  const lab = Lab.with(others)
  lab.pass(20_000, others)
  for (const accuser of ['b', 'c', 'd']) lab.hear(suspect('a', accuser))
  lab.pass(3_900, others)
  t.equal(lab.status('a'), 'alive')
  lab.pass(200, others)
  t.equal(lab.status('a'), 'failed')
  t.same(lab.core.member('a')?.suspicion?.confirmedBy, ['c', 'd'])
  t.end()
})

void t.test('a suspect that objects is trusted again, and the suspicion stays to be read', (t) => {
  const lab = Lab.with(others)
  lab.hear(suspect('a', 'b'))
  lab.hear(alive('a', { incarnation: 2 }))
  t.equal(lab.state('a'), 'alive')
  t.match(lab.happened('member-trusted'), [{ suspicion: { by: 'b', ended: { how: 'refuted' } } }])
  lab.pass(60_000, others)
  t.equal(lab.status('a'), 'alive')
  t.end()
})

void t.test('the time this process was not run is not held against others', (t) => {
  const lab = Lab.with(others)
  lab.pass(5_000, others)
  lab.forget()
  lab.untilPinged('b')
  lab.hear(suspect('a', 'b'))
  lab.hear(suspect('a', 'c'))
  lab.hear(suspect('a', 'd'))
  lab.now += 30_000
  lab.command((core, now) => core.tick(now))
  t.match(lab.happened('held-up'), [{ type: 'held-up' }])
  t.equal(lab.state('a'), 'suspect')
  t.equal(lab.state('b'), 'alive')
  lab.hear(alive('a', { incarnation: 2 }))
  lab.pass(10_000, others)
  t.equal(lab.status('a'), 'alive', 'what it said meanwhile was heard in time')
  t.equal(lab.happened('member-failed').length, 0)
  t.end()
})

void t.test('a ping is answered to its source, and one for another name is not', (t) => {
  const lab = Lab.with(['a'])
  const from = endpointOf(500)
  const source = { endpoint: addressOf('a'), node: 'a' }
  lab.hear({ type: 'ping', sequence: 3, node: 'me', source }, from)
  t.match(lab.packets, [
    { to: addressOf('a'), checksum: true, messages: [{ type: 'ack', sequence: 3 }] },
  ])
  lab.forget()
  lab.hear({ type: 'ping', sequence: 4, node: '', source: null }, from)
  t.match(lab.packets, [{ to: from, messages: [{ type: 'ack', sequence: 4 }] }])
  lab.forget()
  lab.hear({ type: 'ping', sequence: 5, node: 'you', source }, from)
  t.equal(lab.packets.length, 0)
  t.equal(lab.core.counters.pingsForOthers, 1)
  t.end()
})

void t.test(
  'a ping for others goes out under an own number, and the answer back under theirs',
  (t) => {
    const asker = endpointOf(500)
    for (const [wantsNack, answered, expected] of [
      [true, true, ['ack']],
      [true, false, ['nack']],
      [false, false, []],
    ] as const) {
      const lab = Lab.with([])
      lab.hear(
        {
          type: 'indirect-ping',
          sequence: 77,
          target: addressOf('a'),
          node: 'a',
          wantsNack,
          source: null,
        },
        asker,
      )
      const [ping] = lab.sent('ping', 'a')
      t.not(ping?.sequence, 77)
      lab.forget()
      if (answered) lab.hear({ type: 'ack', sequence: ping?.sequence ?? 0, payload: null })
      lab.pass(600)
      const back = lab.packets.flatMap(({ messages }) => messages)
      t.same(
        back.map(({ type }) => type),
        expected,
      )
      t.ok(back.every((message) => 'sequence' in message && message.sequence === 77))
      t.ok(lab.packets.every(({ to }) => to.port === asker.port))
      t.equal(lab.core.sizes.relays, 0)
    }
    t.end()
  },
)

void t.test('pings for others have a bound', (t) => {
  const lab = Lab.with([])
  for (let sequence = 0; sequence < relaysMax + 10; sequence += 1) {
    const target = addressOf('a')
    lab.hear({ type: 'indirect-ping', sequence, target, node: 'a', wantsNack: true, source: null })
  }
  t.equal(lab.core.sizes.relays, relaysMax)
  t.equal(lab.core.counters.relaysRefused, 10)
  t.end()
})

void t.test(
  'news rides on every packet, and goes to the newly dead as well, but not to the left',
  (t) => {
    const lab = Lab.with(['a', 'b', 'c'])
    lab.hear(dead('a', 'b'))
    lab.hear(dead('c', 'c'))
    lab.forget()
    lab.hear({ type: 'ping', sequence: 1, node: 'me', source: null }, addressOf('b'))
    t.same(lab.packets[0]?.messages.map(({ type }) => type).slice(0, 2), ['ack', 'alive'])
    lab.forget()
    lab.pass(300, ['b'])
    t.ok(
      lab.sent('dead', 'a').some(({ node }) => node === 'a'),
      'it may object',
    )
    t.equal(lab.packets.filter(({ to }) => to.port === addressOf('c').port).length, 0)
    lab.pass(31_000, ['b'])
    lab.forget()
    lab.hear(alive('z'))
    lab.pass(5_000, ['b', 'z'])
    t.equal(lab.packets.filter(({ to }) => to.port === addressOf('a').port).length, 0)
    t.end()
  },
)
