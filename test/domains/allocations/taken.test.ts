/** What nodes' allocations take together, kept beside their rows. */
import t from 'tap'
import { takesPlace } from '../../../src/domains/allocations/model.ts'
import { Taken, takenOfNodes, type TakenRow } from '../../../src/domains/allocations/taken-model.ts'
import { allocationsEverOnNode } from '../../../src/domains/allocations/queries.ts'
import { seededRandom, randomInteger } from '../../../src/lib/random.ts'
import { idOf, nowMs, placedOn, workloads, type Workloads } from './workloads.ts'

void t.test('it is what the rows of allocations say, whatever plans and agents do', async (t) => {
  const here = await workloads(t)
  const nodes = [await here.node(1), await here.node(2)]
  const job = await here.plant()
  const random = seededRandom(7)
  let made = 0
  for (let round = 0; round < 60; round += 1) {
    const nodeId = nodes[randomInteger(random, 0, 2)] ?? ''
    const former = made === 0 ? 0 : randomInteger(random, 0, made)
    const id = idOf('allo', former)
    switch (randomInteger(random, 0, 3)) {
      case 0: {
        const more = { cpuMhz: 5, ports: [8_000 + (made % 7)], name: `web.g[${made % 9}]` }
        await here.plan(job, { place: [placedOn(job, nodeId, made, more)] })
        made += 1
        break
      }
      case 1: {
        const stop = [
          { id, desiredStatus: 'stop', desiredDescription: '', lost: true, followupEval: '' },
        ] as const
        await here.status(nodeId, round % 2 === 0 ? 'down' : 'ready')
        await here.plan(job, { stop: [...stop] })
        await here.status(nodeId, 'ready')
        break
      }
      default: {
        const row = here.allocation(id)
        if (row === undefined) break
        const report = {
          id,
          clientStatus: (['running', 'complete', 'failed'] as const)[round % 3] ?? 'running',
          clientDescription: '',
          tasks: [],
          health: null,
        }
        await here.apply('allocations.reported', {
          reports: [{ node: row.nodeId, report }],
          nowMs,
        })
      }
    }
    for (const node of nodes) t.strictSame(sorted(stored(here, node)), await counted(here, node))
  }
  t.ok(made > 10)
})

function stored(here: Workloads, node: string): TakenRow {
  const row = here.read((reader) => reader.get(takenOfNodes, [node]))
  return row ?? new Taken(undefined).row(node)
}

async function counted(here: Workloads, node: string): Promise<TakenRow> {
  const taken = new Taken(undefined)
  const view = here.machine.view()
  try {
    for await (const page of allocationsEverOnNode(view, node)) {
      for (const row of page) if (takesPlace(row)) taken.add(row.resources)
    }
  } finally {
    view.close()
  }
  return sorted(taken.row(node))
}

function sorted(row: TakenRow): TakenRow {
  return { ...row, ports: row.ports.toSorted((left, right) => left - right) }
}
