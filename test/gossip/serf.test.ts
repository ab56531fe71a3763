/** One pool of our members and real serf agents. Left out aloud where serf is missing. */
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../support/eventually.ts'
import { patience, sees, serf, serfMembers, serfSees, startAgent, startNode } from './pool.ts'
import { serfMissing } from './wire/serf-agent.ts'

const options = { skip: serfMissing }
const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const rows = [
  ['plain', null],
  ['encrypted', key(1)],
] as const

await t.test(
  'a serf agent joins, plain and encrypted, is killed, given up and replaced',
  options,
  async (t) => {
    // Two pools, which wait most of the time, wait together.
    await Promise.all(rows.map(([what, secret]) => story(t, what, secret)))
  },
)

async function story(t: Test, what: string, secret: Uint8Array | null): Promise<void> {
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

  const asked = await serf(agent, 'query', '-tag=role=^lead.*', '-timeout=1s', 'load')
  t.match(asked, /Ack from 'a'/)
  t.notMatch(asked, /Ack from 'b'/)
  await serf(agent, 'event', 'deploy', 'v1')
  a.sendUserEvent('hello', Buffer.from('x'), false)
  await eventuallyTrue('the event', () => b.heard.includes('user-event deploy'), patience)
  t.match(await serf(agent, 'reachability'), /contacted all live nodes/)
  const before = a.member('b')?.statusTime ?? 0
  await serf(agent, 'force-leave', 'b')
  // The objection may overtake what it objects to; the time of both is later than all before.
  await eventuallyTrue(
    'the objection',
    () => (a.member('b')?.statusTime ?? 0) > before + 1,
    patience,
  )
  await sees(a, 'a alive, b alive, serf alive')
  await serfSees(agent, 'a alive, b alive, serf alive')

  const killedAt = performance.now()
  await agent.stop()
  await sees(a, 'a alive, b alive, serf failed')
  const firstMs = Math.round(performance.now() - killedAt)
  await sees(b, 'a alive, b alive, serf failed')
  t.comment(`killed serf, ${what}: failed after ${firstMs} ms`)
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
}
