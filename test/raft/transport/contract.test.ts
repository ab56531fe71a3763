import t from 'tap'
import { seededRandom } from '../../../src/lib/random.ts'
import { Network } from '../../sim/network.ts'
import { Life, Scheduler } from '../../sim/scheduler.ts'
import { Trace } from '../../sim/trace.ts'
import { SimTransport } from '../../sim/transport.ts'
import { until } from '../../wire/until.ts'
import { End, raftTransportContract } from './contract.ts'
import { Node } from './node.ts'

void raftTransportContract(t, 'on sockets', async (t) => {
  const nodes = ['a', 'b'].map((id) => new Node({ id, snapshotProgressTimeoutMs: 500 }))
  const [a, b] = nodes.map(({ transport }) => new End(transport)) as [End, End]
  for (const [at, node] of nodes.entries()) await node.start(t, [a, b][at]?.handlers)
  for (const node of nodes) node.peer(...nodes)
  return { a, b, until }
})

void raftTransportContract(t, 'in the simulator', async () => {
  const scheduler = new Scheduler()
  const random = seededRandom(1)
  const trace = new Trace(scheduler, null)
  const calm = { latencyMs: 1, jitterMs: 2, lossRate: 0, duplicateRate: 0, holdRate: 0 }
  const network = new Network(scheduler, random, trace, { ...calm, reorderRate: 0, reorderMs: 0 })
  const [a, b] = ['a', 'b'].map((id) => {
    const life = new Life({ server: id, number: 1, rate: 1, offsetMs: 0 })
    return new End(new SimTransport({ id, life, scheduler, network, random, breakRate: 0.02 }))
  }) as [End, End]
  for (const end of [a, b]) await end.transport.start(end.handlers)
  return {
    a,
    b,
    async until(what, holds) {
      const deadlineMs = scheduler.nowMs + 60_000
      do await scheduler.run(scheduler.nowMs + 10)
      while (!holds() && scheduler.nowMs < deadlineMs)
      if (!holds()) throw new Error(`waited in vain: ${what}`)
    },
  }
})
