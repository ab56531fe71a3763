/** A decision that is too large for one entry. */
import t from 'tap'
import { planParts } from '../../src/scheduler/plan-parts.ts'
import { allocationRow, decide, id, jobSpec, nodeRow, scheduledJob } from './cluster.ts'

t.test('parts are bounded, and what is replaced stops in the part of its successor', async (t) => {
  const nodes = Array.from({ length: 8 }, (_none, at) => nodeRow(at + 1))
  const group = (Env: Record<string, string>) => ({
    Count: 10,
    Update: { MaxParallel: 0 },
    Tasks: [{ Name: 'main', Driver: 'mock_driver', Env, Resources: { CPU: 500, MemoryMB: 256 } }],
  })
  const specs = [jobSpec({}, group({})), jobSpec({}, group({ A: '1' }))]
  const [, spec] = specs
  if (spec === undefined) return
  const allocations = Array.from({ length: 12 }, (_none, at) => allocationRow(at))
  const job = scheduledJob(spec, { version: 1 })
  const parts = planParts(decide({ nodes, job, allocations, specs }), { rowsMax: 6 })
  const sizes = parts.map(({ place, stop, update }) => [stop.length, update.length, place.length])
  t.same(sizes, [
    [4, 0, 2],
    [3, 0, 3],
    [3, 0, 3],
    [2, 0, 2],
  ])
  for (const { place, stop } of parts) {
    const gone = new Set(stop.map(({ id }) => id))
    t.ok(place.every(({ previous }) => gone.has(previous)))
  }
})

t.test('with nothing to do there is one part, which is empty', async (t) => {
  const decision = decide({ nodes: [], job: null })
  t.same(planParts(decision), [{ place: [], update: [], stop: [] }])
})

t.test('what waits is told in the last parts, which are bounded too', async (t) => {
  const decision = decide({ nodes: [], job: null })
  const ids = Array.from({ length: 5 }, (_none, at) => id(at))
  const followUp = { evaluation: id(99), ids }
  const parts = planParts(decision, { followUp, rowsMax: 2 })
  t.same(
    parts.map((part) => part.followUp),
    [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)].map((some) => ({ ...followUp, ids: some })),
  )
})
