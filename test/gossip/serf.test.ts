/** One pool of our members and real serf agents. Left out aloud where serf is missing. */
import t from 'tap'
import type { GossipNode } from '../../src/gossip/door.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { patience, seenBy, seenBySerf, serf, serfMembers, startAgent, startNode } from './pool.ts'
import { serfMissing, type SerfAgent } from './wire/serf-agent.ts'

// They wait most of the time, so they wait together.
t.jobs = 4
const options = { skip: serfMissing, buffered: true }
const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

async function sees(node: GossipNode, expected: string): Promise<void> {
  await eventuallyTrue(`${node.name} sees ${expected}`, () => seenBy(node) === expected, patience)
}

async function serfSees(agent: SerfAgent, expected: string): Promise<void> {
  await eventuallyTrue(
    `serf sees ${expected}`,
    async () => (await seenBySerf(agent)) === expected,
    patience,
  )
}

const rows = [
  ['plain', null],
  ['encrypted', key(1)],
] as const

for (const [what, secret] of rows) {
  t.test(`a serf agent joins, ${what}, is killed, given up and replaced`, options, async (t) => {
    const ours = secret === null ? {} : { keys: [base64(secret)] }
    const theirs = secret === null ? {} : { key: secret }
    const a = await startNode(t, 'a', ours)
    const b = await startNode(t, 'b', ours)
    const agent = await startAgent(t, 'serf', { ...theirs, tags: ['role=web', 'zone=eins'] })
    await b.join([a.local().endpoint])
    await serf(agent, 'join', a.local().endpoint)
    for (const node of [a, b]) await sees(node, 'a alive, b alive, serf alive')
    await serfSees(agent, 'a alive, b alive, serf alive')
    t.same(
      a.member('serf')?.tags,
      new Map([
        ['role', 'web'],
        ['zone', 'eins'],
      ]),
    )
    t.match(
      (await serfMembers(agent)).find(({ name }) => name === 'b'),
      { tags: { role: 'muster' } },
    )

    a.setTags(new Map([['role', 'leader']]))
    await serf(agent, 'tags', '-set', 'zone=zwei')
    await eventuallyTrue('our tags at serf', async () =>
      (await serfMembers(agent)).some(({ tags }) => tags['role'] === 'leader'),
    )
    await eventuallyTrue('its tags here', () => b.member('serf')?.tags.get('zone') === 'zwei')

    await serf(agent, 'event', 'deploy', 'v1')
    a.sendUserEvent('hello', Buffer.from('x'), false)
    await eventuallyTrue('the event', () => b.heard.includes('user-event deploy'), patience)
    t.match(await serf(agent, 'reachability'), /contacted all live nodes/)
    t.match(await serf(agent, 'force-leave', 'b'), '')
    await eventuallyTrue('the objection', () => a.heard.includes('member-stays b'), patience)
    await serfSees(agent, 'a alive, b alive, serf alive')

    const killedAt = performance.now()
    await agent.stop()
    await sees(a, 'a alive, b alive, serf failed')
    const firstMs = Math.round(performance.now() - killedAt)
    await sees(b, 'a alive, b alive, serf failed')
    t.comment(`killed serf: failed after ${firstMs} ms`)
    t.match(a.member('serf'), {
      status: 'failed',
      suspicion: { why: /UDP|gossip/, ended: { how: 'failed' } },
    })
    b.forceLeave('serf', false)
    await sees(a, 'a alive, b alive, serf left')

    const again = await startAgent(t, 'serf', theirs)
    await serf(again, 'join', b.local().endpoint)
    for (const node of [a, b]) await sees(node, 'a alive, b alive, serf alive')
    await serfSees(again, 'a alive, b alive, serf alive')
    for (const node of [a, b]) {
      const { packets, streams, messages } = node.counters().wire
      t.match(packets.refused, { 'wrong-key': 0, plain: 0, broken: 0, 'too-large': 0 })
      t.match(streams.refused, { 'wrong-key': 0, plain: 0, broken: 0, 'too-large': 0 })
      t.equal(messages.refused, 0)
    }
  })
}

t.test(
  'whoever leaves, left for the others, and a killed one of ours fails',
  options,
  async (t) => {
    const a = await startNode(t, 'a')
    const b = await startNode(t, 'b')
    const c = await startNode(t, 'c')
    const agent = await startAgent(t, 'x')
    const other = await startAgent(t, 'y')
    const { errors } = await a.join([
      b.local().endpoint,
      c.local().endpoint,
      `127.0.0.1:${agent.port}`,
      `127.0.0.1:${other.port}`,
    ])
    t.same(errors, [])
    await serfSees(agent, 'a alive, b alive, c alive, x alive, y alive')
    await serf(other, 'leave')
    await sees(a, 'a alive, b alive, c alive, x alive, y left')
    await b.leave()
    await b.stop()
    await serfSees(agent, 'a alive, b left, c alive, x alive, y left')
    await c.stop()
    await serfSees(agent, 'a alive, b left, c failed, x alive, y left')
    await sees(a, 'a alive, b left, c failed, x alive, y left')
    await serf(agent, 'force-leave', 'c')
    await sees(a, 'a alive, b left, c left, x alive, y left')
    a.forceLeave('c', true)
    await serfSees(agent, 'a alive, b left, x alive, y left')
    await sees(a, 'a alive, b left, x alive, y left')
  },
)

t.test('keys are exchanged in a mixed pool by either side', options, async (t) => {
  const [old, next, last] = [key(1), key(2), key(3)]
  const a = await startNode(t, 'a', { keys: [base64(old)] })
  const b = await startNode(t, 'b', { keys: [base64(old)] })
  const agent = await startAgent(t, 'x', { key: old })
  await a.join([b.local().endpoint, `127.0.0.1:${agent.port}`])
  await sees(b, 'a alive, b alive, x alive')
  const whole = { members: 3, answered: 3, errors: new Map() }
  t.match(await a.keyring.everywhere({ type: 'install', key: base64(next) }), whole)
  t.match(await a.keyring.everywhere({ type: 'use', key: base64(next) }), whole)
  t.match(await a.keyring.everywhere({ type: 'remove', key: base64(old) }), whole)
  t.match(await a.keyring.everywhere({ type: 'list' }), {
    ...whole,
    keys: new Map([[base64(next), 3]]),
    primaryKeys: new Map([[base64(next), 3]]),
  })
  for (const flag of ['-install', '-use']) await serf(agent, 'keys', `${flag}=${base64(last)}`)
  await serf(agent, 'keys', `-remove=${base64(next)}`)
  t.match(await serf(agent, 'keys', '-list'), new RegExp(`${escaped(base64(last))}.*3/3`))
  t.same(b.keyring.here({ type: 'list' }), [base64(last)])
  a.sendUserEvent('after', Buffer.from('x'), false)
  await eventuallyTrue('an event after it', () => b.heard.includes('user-event after'), patience)
  await serfSees(agent, 'a alive, b alive, x alive')
})

function escaped(text: string): string {
  return text.replaceAll(/[+/]/g, String.raw`\$&`)
}
