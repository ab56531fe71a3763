/** Leaving, failing and being given up in one pool with serf agents, and keys. Left out aloud where serf is missing. */
import t from 'tap'
import { eventuallyTrue } from '../support/eventually.ts'
import { patience, sees, serf, serfSees, startAgent, startNode } from './pool.ts'
import { serfMissing } from './wire/serf-agent.ts'

const options = { skip: serfMissing }
const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

await t.test(
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
    await c.stop()
    await serfSees(agent, 'a alive, b alive, c failed, x alive, y alive')
    await sees(a, 'a alive, b alive, c failed, x alive, y alive')
    await serf(agent, 'force-leave', 'c')
    await sees(a, 'a alive, b alive, c left, x alive, y alive')
    await serf(other, 'leave')
    await sees(a, 'a alive, b alive, c left, x alive, y left')
    await b.leave()
    await b.stop()
    await serfSees(agent, 'a alive, b left, c left, x alive, y left')
    a.forceLeave('c', true)
    await serfSees(agent, 'a alive, b left, x alive, y left')
    await sees(a, 'a alive, b left, x alive, y left')
  },
)

await t.test('keys are exchanged in a mixed pool by either side', options, async (t) => {
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
