/** A pool of many real serf agents and two members of ours. Left out aloud where serf is missing. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import type { GossipNode } from '../../src/gossip/gossip.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { patience, serfMembers, startAgent, startNode } from './pool.ts'
import { serfMissing, type SerfAgent } from './wire/serf-agent.ts'

const options = { skip: serfMissing }

await t.test('many serf agents at once', options, async (t) => {
  const count = Number(process.env['MUSTER_SERF_AGENTS'] ?? 8)
  const a = await startNode(t, 'a')
  const b = await startNode(t, 'b')
  await b.join([a.local().endpoint])
  const agents: SerfAgent[] = []
  for (let index = 0; index < count; index += 1) agents.push(await startAgent(t, `x${index}`))
  const startedAt = performance.now()
  const run = promisify(execFile)
  await Promise.all(
    agents.map(({ rpcAddress }) =>
      run('serf', ['join', `-rpc-addr=${rpcAddress}`, a.local().endpoint]),
    ),
  )
  const alive = (node: GossipNode): number =>
    node.members().filter(({ status }) => status === 'alive').length
  await eventuallyTrue('all here', () => alive(a) === count + 2 && alive(b) === count + 2, patience)
  const oursMs = Math.round(performance.now() - startedAt)
  for (const agent of agents) {
    await eventuallyTrue(
      'all there',
      async () =>
        (await serfMembers(agent)).filter(({ status }) => status === 'alive').length === count + 2,
      patience,
    )
  }
  const allMs = Math.round(performance.now() - startedAt)
  const killedAt = performance.now()
  await agents[0]?.stop()
  await eventuallyTrue('failed at a', () => a.member('x0')?.status === 'failed', patience)
  const firstMs = Math.round(performance.now() - killedAt)
  await eventuallyTrue('failed at b', () => b.member('x0')?.status === 'failed', patience)
  t.comment(
    `${count} agents: seen here after ${oursMs} ms, by all after ${allMs} ms; ` +
      `one killed: failed here after ${firstMs} ms, at both after ${Math.round(performance.now() - killedAt)} ms`,
  )
  t.equal(alive(a), count + 1, 'nobody else is called failed')
})
