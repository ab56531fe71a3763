/** Network coordinates in one pool with serf agents. Left out aloud where serf is missing. */
import t from 'tap'
import { eventuallyTrue } from '../support/eventually.ts'
import { sees, serf, startAgent, startNode } from './pool.ts'
import { serfMissing } from './wire/serf-agent.ts'

await t.test(
  'an agent of serf tells the round trip to a member of ours',
  { skip: serfMissing },
  async (t) => {
    const a = await startNode(t, 'a')
    const agent = await startAgent(t, 'x')
    await a.join([`127.0.0.1:${agent.port}`])
    await sees(a, 'a alive, x alive')
    await eventuallyTrue(
      'a round trip',
      async () => {
        const told = await serf(agent, 'rtt', 'a', 'x').catch(() => '')
        return /Estimated a <-> x rtt: [\d.]+ ms/.test(told)
      },
      { timeoutMs: 60_000, everyMs: 200 },
    )
    t.equal(a.counters().core.coordinatesInvalid, 0)
  },
)
