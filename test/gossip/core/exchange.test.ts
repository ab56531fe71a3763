/** Whole states exchanged: what is sent, when, and what is believed. */
import t from 'tap'
import { exchangesMax } from '../../../src/gossip/core/exchange.ts'
import { ownVersions } from '../../../src/gossip/core/versions.ts'
import { addressOf, alive, dead, entry, exchange, Lab, stateOf } from './lab.ts'

void t.test(
  'what a peer says of others: the living are taken in, the gone are only suspected',
  (t) => {
    // known state, told state, believed state
    const table = [
      ['unknown', 'alive', 'alive'],
      ['unknown', 'suspect', 'unknown'],
      ['unknown', 'dead', 'unknown'],
      ['unknown', 'left', 'unknown'],
      ['alive', 'suspect', 'suspect'],
      ['alive', 'dead', 'suspect'],
      ['alive', 'left', 'left'],
      ['dead', 'suspect', 'dead'],
      ['dead', 'alive', 'dead'],
    ] as const
    for (const [known, told, believed] of table) {
      const lab = new Lab()
      if (known !== 'unknown') lab.hear(alive('a'))
      if (known === 'dead') lab.hear(dead('a', 'x'))
      exchange(lab, stateOf([entry('a', told)]))
      t.equal(lab.state('a'), believed, `${known}, told ${told}`)
      if (believed !== 'suspect') continue
      t.match(lab.core.member('a')?.suspicion, { by: 'me', evidence: { type: 'push-pull' } })
    }
    t.end()
  },
)

void t.test('who told of a doubt is the peer where it listens, not the port of its stream', (t) => {
  const from = (name: string) => ({ address: addressOf(name).address, port: 50_000 })
  const told = (states: Parameters<typeof stateOf>[0]) => {
    const lab = Lab.with(['a', 'b', 'c'])
    lab.command((core, now) => core.exchangeReceived(stateOf(states), from('b'), now))
    return lab.core.member('a')?.suspicion
  }
  t.match(told([entry('a', 'dead'), entry('b', 'alive'), entry('c', 'alive')]), {
    evidence: { via: addressOf('b') },
    toldBy: 'b',
  })
  const beside = entry('c', 'alive', { endpoint: { ...addressOf('b'), port: 7 } })
  t.match(
    told([entry('a', 'dead'), entry('b', 'alive'), beside]),
    { evidence: { via: { address: addressOf('b').address, port: 0 } }, toldBy: null },
    'two at one address: it may be either',
  )
  t.match(told([entry('a', 'dead'), entry('c', 'alive')]), { toldBy: null }, 'none is known there')
  t.end()
})

void t.test(
  'a doubt from a state that this member asked for is told by whoever listens there',
  (t) => {
    const lab = Lab.with(['a', 'b'])
    const id = lab.command((core, now) => core.join(addressOf('b'), false, now))
    lab.command((core, now) => core.exchanged(id, stateOf([entry('a', 'dead')]), now))
    t.match(lab.core.member('a')?.suspicion, { evidence: { via: addressOf('b') }, toldBy: 'b' })
    t.end()
  },
)

void t.test(
  'the reply is the state before the merge, with everybody and versions, the dead too',
  (t) => {
    const lab = Lab.with(['a', 'b'])
    lab.hear(dead('b', 'x'))
    const reply = exchange(lab, stateOf([entry('c', 'alive')]))
    t.match(reply.nodes, [
      { name: 'me', state: 'alive', versions: ownVersions },
      { name: 'a', state: 'alive', versions: ownVersions },
      { name: 'b', state: 'dead', versions: ownVersions },
    ])
    t.equal(reply.nodes.length, 3)
    t.equal(lab.status('c'), 'alive')
    t.end()
  },
)

void t.test('a member told to be gone objects, and in the layer above too', (t) => {
  for (const state of ['suspect', 'dead', 'left'] as const) {
    const lab = Lab.with(['a'])
    exchange(lab, stateOf([entry('me', state, { incarnation: 8 }), entry('a', 'alive')]))
    t.equal(lab.incarnation('me'), 9, state)
    lab.pass(1_000, ['a'])
    t.equal(lab.sentSerf('join-intent').length > 0, state !== 'suspect')
  }
  t.end()
})

void t.test('entries that do not fit are left out, a pool that does not is refused', (t) => {
  const lab = new Lab()
  const strange = { versions: { ...ownVersions, protocolCurrent: 9, protocolMax: 9 } }
  const mixed = stateOf([
    entry('a', 'alive'),
    entry('b', 'alive', strange),
    entry('c', 'dead', { versions: null }),
  ])
  t.equal(lab.core.exchangeReceived(mixed, addressOf('a'), 0).error, null)
  t.equal(lab.status('a'), 'alive')
  t.equal(lab.status('b'), 'unknown')
  const { error } = lab.core.exchangeReceived(
    stateOf([entry('d', 'alive', strange)]),
    addressOf('d'),
    0,
  )
  t.match(error, 'protocol version')
  t.end()
})

void t.test('states are exchanged with one living member at random, at the interval', (t) => {
  const lab = Lab.with(['a', 'b'])
  lab.hear(dead('b', 'x'))
  lab.pass(300_000, ['a'])
  const due = lab.exchanges.filter(({ to }) => to.port === addressOf('a').port)
  t.ok(due.length >= 9 && due.length <= 10, `${due.length} in ten intervals`)
  t.ok(due.every(({ message }) => !message.join))
  t.end()
})

void t.test('to join is to exchange states and to say so; how it went is told', (t) => {
  const lab = new Lab()
  const first = lab.command((core, now) => core.join(addressOf('a'), false, now))
  const second = lab.command((core, now) => core.join(addressOf('b'), false, now))
  t.match(lab.exchanges, [
    { id: first, to: addressOf('a'), message: { join: true } },
    { id: second, to: addressOf('b') },
  ])
  const state = stateOf([entry('a', 'alive')], { time: 50 })
  lab.command((core, now) => core.exchanged(first, state, now))
  lab.command((core, now) => core.exchanged(second, 'connection refused', now))
  lab.command((core, now) => core.exchanged(second, state, now))
  t.match(lab.happened('joined-through'), [
    { id: first, error: null },
    { id: second, error: 'connection refused' },
  ])
  t.equal(lab.happened('joined-through').length, 2)
  lab.pass(500)
  t.match(lab.sentSerf('join-intent')[0], { node: 'me', time: 51 })
  t.equal(lab.status('a'), 'alive')
  t.end()
})

void t.test('exchanges under way have a bound, also when no answer ever comes', (t) => {
  const lab = new Lab()
  for (let count = 0; count < exchangesMax; count += 1) lab.core.join(addressOf('a'), false, 0)
  t.throws(() => lab.core.join(addressOf('a'), false, 0), { code: 'overloaded' })
  lab.pass(25_000)
  lab.hear(alive('a'))
  lab.pass(40_000, ['a'])
  t.ok(lab.core.sizes.exchanges <= 1, 'only the newest of the periodic ones')
  t.end()
})
