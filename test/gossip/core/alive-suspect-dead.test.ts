/** Which claim wins, and what a member says to claims about itself. */
import t from 'tap'
import { incarnationJumpMax } from '../../../src/gossip/core/alive-suspect-dead.ts'
import { hearsayMax, membersMax } from '../../../src/gossip/core/members.ts'
import type { PacketMessage } from '../../../src/gossip/core/message.ts'
import { ownVersions } from '../../../src/gossip/core/versions.ts'
import { simCodec } from '../sim/codec.ts'
import { endpointOf } from '../sim/world.ts'
import { addressOf, alive, dead, entry, exchange, Lab, stateOf, suspect } from './lab.ts'

const elsewhere = endpointOf(777)

/** Brings a member with incarnation 5 into a state. */
function knowing(state: string): Lab {
  const lab = new Lab()
  lab.hear(alive('a', { incarnation: 5 }))
  if (state === 'suspect') lab.hear(suspect('a', 'x', 5))
  if (state === 'dead') lab.hear(dead('a', 'x', 5))
  if (state === 'left') lab.hear(dead('a', 'a', 5))
  t.equal(lab.state('a'), state)
  lab.forget()
  return lab
}

function claim(type: string, incarnation: number): PacketMessage {
  if (type === 'alive') return alive('a', { incarnation })
  if (type === 'suspect') return suspect('a', 'y', incarnation)
  return type === 'dead' ? dead('a', 'y', incarnation) : dead('a', 'a', incarnation)
}

void t.test('a claim about another wins by incarnation, and with an equal one by gravity', (t) => {
  // state, claim, its incarnation (5 is known), state afterwards
  const table = [
    ['alive', 'alive', 5, 'alive'],
    ['alive', 'suspect', 4, 'alive'],
    ['alive', 'suspect', 5, 'suspect'],
    ['alive', 'dead', 4, 'alive'],
    ['alive', 'dead', 5, 'dead'],
    ['alive', 'left', 5, 'left'],
    ['suspect', 'alive', 5, 'suspect'],
    ['suspect', 'alive', 6, 'alive'],
    ['suspect', 'suspect', 9, 'suspect'],
    ['suspect', 'dead', 4, 'suspect'],
    ['suspect', 'dead', 5, 'dead'],
    ['suspect', 'left', 5, 'left'],
    ['dead', 'alive', 5, 'dead'],
    ['dead', 'alive', 6, 'alive'],
    ['dead', 'suspect', 9, 'dead'],
    ['dead', 'left', 5, 'left'],
    ['dead', 'left', 4, 'dead'],
    ['left', 'alive', 5, 'left'],
    ['left', 'alive', 6, 'alive'],
    ['left', 'dead', 9, 'left'],
  ] as const
  for (const [before, type, incarnation, after] of table) {
    const lab = knowing(before)
    lab.hear(claim(type, incarnation))
    t.equal(lab.state('a'), after, `${before}, then ${type} ${incarnation}`)
  }
  t.end()
})

void t.test('accusations of unknown members leave no trace', (t) => {
  const lab = new Lab()
  for (let index = 0; index < 5_000; index += 1) {
    lab.hear(suspect(`ghost${index}`, 'x', 3))
    lab.hear(dead(`ghost${index}`, 'x', 3))
  }
  t.equal(lab.core.sizes.members, 1)
  t.equal(lab.core.sizes.claims, 0)
  t.equal(lab.core.counters.claimsUnknown, 10_000)
  t.end()
})

void t.test('what is news is told on, what is known is not', (t) => {
  const lab = Lab.with(['a', 'b', 'c', 'd'])
  lab.pass(20_000, ['a', 'b', 'c', 'd'])
  t.equal(lab.core.sizes.claims, 0, 'all is told')
  lab.hear(suspect('a', 'b'))
  t.equal(lab.core.sizes.claims, 1)
  lab.pass(3_000, ['b', 'c', 'd'])
  t.equal(lab.core.sizes.claims, 0)
  lab.hear(suspect('a', 'b'))
  t.equal(lab.core.sizes.claims, 0, 'the same accuser again is no news')
  lab.hear(suspect('a', 'c'))
  t.equal(lab.core.sizes.claims, 1, 'another one is')
  t.end()
})

void t.test(
  'a member accused objects with a greater incarnation, to all and to whoever said it',
  (t) => {
    // own incarnation is 1
    const table = [
      [suspect('me', 'a', 1), 2],
      [suspect('me', 'a', 7), 8],
      [dead('me', 'a', 3), 4],
      [dead('me', 'me', 3), 4],
      [suspect('me', 'a', 0), 1],
      [alive('me', { incarnation: 1 }), 1],
      [alive('me', { incarnation: 4 }), 5],
      [alive('me', { meta: Uint8Array.of(255, 1) }), 2],
      [alive('me', { versions: { ...ownVersions, protocolMax: 4 } }), 2],
      [alive('me', { incarnation: 0, meta: Uint8Array.of(255, 1) }), 1],
    ] as const
    for (const [message, incarnation] of table) {
      const lab = Lab.with(['a'])
      lab.hear(message, addressOf('a'))
      t.equal(lab.incarnation('me'), incarnation, JSON.stringify(message))
      t.equal(lab.state('me'), 'alive')
      const said = lab.sent('alive', 'a').filter(({ node }) => node === 'me')
      t.equal(said.length > 0, incarnation > 1 && message.type !== 'alive')
      t.equal(lab.core.healthScore, incarnation > 1 ? 1 : 0, 'objecting is a sign of own slowness')
    }
    t.end()
  },
)

void t.test('a dead claim about oneself is answered by a join intent too', (t) => {
  const lab = Lab.with(['a'])
  lab.hear(dead('me', 'a', 3))
  lab.pass(1_000)
  t.equal(lab.sentSerf('join-intent')[0]?.node, 'me')
  t.end()
})

void t.test('a name moves to another address only when its holder is gone', (t) => {
  const table = [
    ['alive', 0, 'alive', true],
    ['suspect', 0, 'suspect', true],
    ['left', 0, 'alive', false],
    ['dead', 1_000, 'dead', true],
    ['dead', 30_001, 'alive', false],
  ] as const
  for (const [before, afterMs, after, conflict] of table) {
    const lab = knowing(before)
    lab.pass(afterMs)
    lab.hear(alive('a', { incarnation: 6, endpoint: elsewhere }))
    t.equal(lab.state('a'), after, `${before} for ${afterMs} ms`)
    t.equal(lab.happened('name-conflict').length > 0, conflict)
    t.equal(lab.core.member('a')?.endpoint.port === elsewhere.port, !conflict)
  }
  t.end()
})

void t.test('whoever carries the mark of the owner takes the name along', (t) => {
  const ownerTag = 'id'
  const marked = (id: string) => simCodec.encodeTags(new Map([[ownerTag, id]]))
  for (const [claimed, incarnation, moves] of [
    ['x', 6, true],
    ['y', 6, false],
    ['', 6, false],
  ] as const) {
    const lab = Lab.with([], { ownerTag })
    lab.hear(alive('a', { incarnation: 5, meta: marked('x') }))
    const meta = marked(claimed)
    lab.hear(alive('a', { incarnation, endpoint: elsewhere, meta }))
    t.equal(lab.state('a'), 'alive')
    t.equal(lab.core.member('a')?.endpoint.port === elsewhere.port, moves)
    t.equal(lab.happened('name-conflict').length, moves ? 0 : 1)
  }
  t.end()
})

void t.test('a member that moved and counts anew is asked where it is, and objects', (t) => {
  const ownerTag = 'id'
  const meta = simCodec.encodeTags(new Map([[ownerTag, 'x']]))
  const lab = Lab.with([], { ownerTag, tags: new Map([[ownerTag, 'x']]) })
  lab.hear(alive('a', { incarnation: 5, meta }))
  lab.pass(1_000)
  lab.forget()
  lab.hear(alive('a', { incarnation: 1, endpoint: elsewhere, meta }))
  t.not(lab.core.member('a')?.endpoint.port, elsewhere.port)
  const asked = lab.packets.filter(({ to }) => to.port === elsewhere.port)
  t.match(asked[0]?.messages, [{ type: 'suspect', node: 'a', incarnation: 5 }])

  lab.hear(alive('me', { incarnation: 4, endpoint: elsewhere, meta }))
  t.equal(lab.incarnation('me'), 5, 'its own old address is outdone')
  t.same(lab.happened('name-conflict'), [])
  t.end()
})

void t.test('a conflict over a name is said once in a while, also over the own name', (t) => {
  const lab = Lab.with(['a'])
  for (let times = 0; times < 50; times += 1) {
    lab.hear(alive('a', { incarnation: 50, endpoint: elsewhere }))
    lab.hear(alive('me', { incarnation: 50, endpoint: elsewhere }))
  }
  t.match(lab.happened('name-conflict'), [
    { name: 'a', own: false },
    { name: 'me', own: true },
  ])
  t.equal(lab.happened('name-conflict').length, 2)
  t.equal(lab.core.counters.nameConflicts, 100)
  t.end()
})

void t.test('an old alive claim does not undo a death; its subject is asked instead', (t) => {
  const lab = knowing('dead')
  lab.pass(120_000)
  lab.forget()
  lab.hear(alive('a', { incarnation: 1 }))
  lab.hear(alive('a', { incarnation: 5 }))
  t.equal(lab.state('a'), 'dead')
  t.match(lab.sent('suspect', 'a'), [{ node: 'a', from: 'me', incarnation: 5 }], 'asked once')
  lab.hear(alive('a', { incarnation: 6 }))
  t.equal(lab.state('a'), 'alive', 'it objected')
  t.match(lab.happened('member-joined'), [{ before: 'failed' }])
  t.end()
})

void t.test('claims that no honest member makes are refused', (t) => {
  const table = [
    ['a huge first incarnation', alive('b', { incarnation: 2 ** 32 - 5 })],
    ['a leap', alive('a', { incarnation: 6 + incarnationJumpMax })],
    ['an accusing leap', suspect('a', 'x', 2 ** 32 - 1)],
    ['a deadly leap', dead('a', 'x', 2 ** 53)],
    ['a leap about oneself', suspect('me', 'x', 2 ** 32 - 1)],
    ['not a number', alive('b', { incarnation: NaN })],
    ['negative', alive('b', { incarnation: -1 })],
    ['no name', alive('')],
    ['a long name', alive('n'.repeat(129))],
    ['a long accuser', suspect('a', 'n'.repeat(129), 5)],
    ['large meta', alive('b', { meta: new Uint8Array(513) })],
    ['no versions', alive('b', { versions: null })],
    ['other versions', alive('b', { versions: { ...ownVersions, protocolCurrent: 9 } })],
  ] as const
  for (const [name, message] of table) {
    const lab = knowing('alive')
    lab.hear(message)
    t.equal(lab.core.members().length, 2, name)
    t.equal(lab.state('a'), 'alive', name)
    t.equal(lab.incarnation('a'), 5, name)
    t.equal(lab.incarnation('me'), 1, name)
  }
  t.end()
})

void t.test('at the end of the incarnations a member keeps the last one', (t) => {
  const lab = Lab.with(['a'])
  let incarnation = 1
  while (incarnation < 2 ** 32 - 1) {
    incarnation = Math.min(lab.incarnation('me') + incarnationJumpMax, 2 ** 32 - 1)
    lab.hear(suspect('me', 'x', incarnation))
    lab.forget()
  }
  t.equal(lab.incarnation('me'), 2 ** 32 - 1)
  t.ok(lab.core.counters.claimsBeyondBounds > 0)
  t.end()
})

void t.test(
  'a full list makes room by forgetting the longest dead, and refuses when all live',
  (t) => {
    const lab = new Lab()
    const nodes = Array.from({ length: membersMax - 1 }, (_, at) => entry(`n${at + 1}`, 'alive'))
    const id = lab.command((core, now) => core.join(endpointOf(900), false, now))
    lab.command((core, now) => core.exchanged(id, stateOf(nodes), now))
    t.equal(lab.core.sizes.members, membersMax, 'a pool that it joins may be of any size')
    lab.forget()
    lab.hear(alive('late'))
    t.equal(lab.status('late'), 'unknown')
    t.equal(lab.core.counters.claimsNoRoom, 1)
    // Room under the bound of hearsay too.
    for (let at = 1; at <= membersMax - hearsayMax; at += 1) lab.hear(dead(`n${at + 4}`, 'x'))
    lab.pass(1_000)
    lab.hear(alive('late'))
    t.equal(lab.status('late'), 'alive')
    t.match(lab.happened('member-reaped'), [{ member: { name: 'n5' } }])
    t.equal(lab.core.sizes.members, membersMax)
    t.end()
  },
)

void t.test(
  'of members that nobody reached so many are believed, by packets and by states',
  (t) => {
    for (const way of ['packets', 'states'] as const) {
      const lab = new Lab()
      const names = Array.from({ length: 9_000 }, (_, at) => `made-up-${at}`)
      if (way === 'packets') for (const name of names) lab.hear(alive(name))
      else exchange(lab, { ...stateOf(names.map((name) => entry(name, 'alive'))), join: true })
      t.equal(lab.core.sizes.members, hearsayMax + 1, way)
      t.equal(lab.core.counters.claimsNoRoom, names.length - hearsayMax)
      t.equal(lab.status('late'), 'unknown')
      for (const name of names.slice(0, 10)) lab.hear(dead(name, 'x'))
      lab.pass(1_000)
      lab.hear(alive('late'))
      t.equal(lab.status('late'), 'alive', 'once some are found dead')
    }
    t.end()
  },
)

void t.test('a member that was met takes the place of one that nobody reached', (t) => {
  const flooded = (): Lab => {
    const lab = new Lab()
    for (let at = 0; at < 9_000; at += 1) lab.hear(alive(`made-up-${at}`))
    lab.forget()
    return lab
  }
  // `exchange` comes from there.
  const there = endpointOf(900)
  const self = entry('real', 'alive', { endpoint: there })

  const came = flooded()
  exchange(came, stateOf([self, entry('told', 'alive')]))
  t.equal(came.status('real'), 'alive', 'it came over a stream from the address that it claims')
  t.equal(came.status('told'), 'unknown', 'what it tells of others is hearsay')
  t.equal(came.status('made-up-0'), 'unknown')
  t.match(came.happened('member-reaped'), [{ member: { name: 'made-up-0' } }])
  t.equal(came.core.sizes.members, hearsayMax + 1)

  const several = flooded()
  exchange(several, stateOf([self, entry('other', 'alive', { endpoint: there })]))
  t.equal(several.status('real'), 'unknown', 'of two that claim one address neither is it')

  const registered = flooded()
  registered.command((core, now) => core.meet(there, now))
  const [asked] = registered.exchanges
  t.same(asked?.to, there, 'who answered there is asked')
  registered.command((core, now) => core.exchanged(asked?.id ?? -1, stateOf([self]), now))
  t.equal(registered.status('real'), 'alive')
  registered.forget()
  registered.command((core, now) => core.meet(there, now))
  t.same(registered.exchanges, [], 'a known one is not asked')
  t.end()
})

void t.test(
  'changed tags raise the own incarnation and are told; those of others are news',
  (t) => {
    const lab = Lab.with(['a'])
    lab.command((core, now) => core.setTags(new Map([['role', 'db']]), now))
    t.equal(lab.incarnation('me'), 2)
    t.equal(lab.core.member('me')?.tags.get('role'), 'db')
    lab.hear(alive('a', { incarnation: 2, meta: lab.sent('alive')[0]?.meta ?? new Uint8Array() }))
    lab.pass(300)
    t.equal(lab.sent('alive').find(({ node }) => node === 'me')?.incarnation, 2)
    t.throws(() => lab.core.setTags(new Map([['x', 'y'.repeat(600)]]), lab.now), {
      code: 'too_large',
    })
    t.equal(lab.incarnation('me'), 2)
    t.end()
  },
)
