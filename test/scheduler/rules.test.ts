/** Random clusters, jobs and allocations: every decision keeps the rules, and repeating it comes to rest where the job is as wanted. */
import assert from 'node:assert/strict'
import t from 'tap'
import { isClientTerminal, type AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { amount } from '../support/randomness.ts'
import fc from '../support/fast-check.ts'
import { allocationRow, decide, id, type World } from './cluster.ts'
import { brokenRules } from './rules.ts'
import { deploymentRow, worlds } from './worlds.ts'

t.test('every decision keeps the rules', async (t) => {
  fc.assert(
    fc.property(worlds, (world: World) => {
      const broken = brokenRules(world, decide(world))
      if (broken.length > 0) throw new Error(broken.join('; '))
    }),
    { numRuns: amount('SCHEDULER_DECISIONS', { gate: 2_000, long: 50_000 }) },
  )
  t.pass('for all worlds')
})

t.test('of a job that is to run nothing, nothing follows from what is over', async (t) => {
  fc.assert(
    fc.property(worlds, (world: World) => {
      const stopped = { ...world, job: world.job === null ? null : { ...world.job, stop: true } }
      const allocations = world.allocations?.filter((row) => !isClientTerminal(row)) ?? []
      assert.deepEqual(decide({ ...stopped, allocations }), decide(stopped))
    }),
    { numRuns: amount('SCHEDULER_DECISIONS', { gate: 500, long: 10_000 }) },
  )
  t.pass('for all worlds')
})

/** What the plan is applied to, and what the agents make of it: what is to stop has ended, the rest runs and is healthy. */
function after(world: World, decision: Decision, round: number): World {
  const { allocations = [], job } = world
  const stops = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  const byId = new Map(stops.map((stop) => [stop.id, stop]))
  const updated = new Map(decision.update.map((update) => [update.id, update]))
  const rows = allocations.map((row): AllocationRow => {
    const stop = byId.get(row.id)
    const isOver = ['complete', 'failed', 'lost'].includes(row.clientStatus)
    if (stop === undefined) {
      const { canary: _canary, deploymentId: _left, ...rest } = row
      const update = updated.get(row.id)
      if (isOver || row.desiredStatus !== 'run') {
        return { ...row, clientStatus: isOver ? row.clientStatus : 'complete' }
      }
      const deploymentId = update?.deploymentId
      const changed =
        update === undefined
          ? row
          : {
              ...rest,
              jobVersion: job?.version ?? 0,
              ...(deploymentId !== undefined && { deploymentId }),
            }
      const isCutOff = world.nodes.some(
        ({ id, status }) => id === row.nodeId && status === 'disconnected',
      )
      if (isCutOff) {
        const isNamed = decision.unknown.includes(row.id)
        return { ...changed, clientStatus: isNamed ? 'unknown' : row.clientStatus }
      }
      return { ...changed, clientStatus: 'running', health: { healthy: true, timeMs: 1 } }
    }
    return {
      ...row,
      desiredStatus: 'stop',
      desiredDescription: stop.desiredDescription,
      modifyMs: world.nowMs ?? 0,
      clientStatus: stop.lost ? 'lost' : isOver ? row.clientStatus : 'complete',
    }
  })
  const placed = decision.place.map(({ allocation }, at) => ({
    ...allocationRow(0),
    ...allocation,
    id: id(100_000 * (round + 1) + at),
    createIndex: 100 + round,
  }))
  return {
    ...world,
    allocations: [...rows, ...placed],
    deployment: deploymentAfter(world, decision),
  }
}

function deploymentAfter({ deployment = null, job }: World, decision: Decision) {
  const { create, resize, ends } = decision.deployment
  const before = deployment === null ? null : resized(deployment, resize)
  if (create !== null) {
    const [group] = create.groups
    const desiredCanaries = group?.desiredCanaries ?? 0
    const made = { status: 'running', desiredCanaries, promoted: false } as const
    const row = deploymentRow({ ...made, jobVersion: job?.version ?? 0 })
    return { ...resized(row, create), id: create.id }
  }
  const [end] = ends
  return before === null || end === undefined ? before : { ...before, status: end.status }
}

function resized(
  deployment: DeploymentRow,
  wanted: Decision['deployment']['resize'],
): DeploymentRow {
  const [counts] = wanted?.groups ?? []
  if (counts === undefined) return deployment
  return { ...deployment, groups: deployment.groups.map((group) => ({ ...group, ...counts })) }
}

/** What an operator does once nothing moves: goes on with what is paused, and promotes canaries. Null: there is nothing to do. */
function operated({ deployment = null, job }: World): DeploymentRow | null {
  if (deployment === null || deployment.jobVersion !== job?.version) return null
  if (deployment.status === 'paused') return { ...deployment, status: 'running' }
  const [group] = deployment.groups
  if (deployment.status !== 'running' || group === undefined) return null
  if (group.desiredCanaries === 0 || group.promoted) return null
  return { ...deployment, groups: [{ ...group, promoted: true }] }
}

/** The time goes by that agents have to end what is lost. Null: none has. */
function waited({ allocations = [] }: World, { followUpMs }: Decision) {
  const isLost = allocations.some(({ clientStatus }) => clientStatus === 'lost')
  return isLost && followUpMs !== null ? { nowMs: followUpMs } : null
}

/** What was cut off is back. Null: nothing was. */
function returned({ nodes }: World) {
  if (!nodes.some(({ status }) => status === 'disconnected')) return null
  return {
    nodes: nodes.map((node) =>
      node.status === 'disconnected' ? { ...node, status: 'ready' as const } : node,
    ),
  }
}

/** Agents have said of all that runs that it is healthy. */
function areAllHealthy({ nodes, allocations = [] }: World): boolean {
  const isCutOff = (nodeId: string) =>
    nodes.some(({ id, status }) => id === nodeId && status === 'disconnected')
  return allocations.every(
    ({ desiredStatus, clientStatus, health, nodeId }) =>
      desiredStatus !== 'run' ||
      ['complete', 'failed', 'lost'].includes(clientStatus) ||
      isCutOff(nodeId) ||
      (health?.healthy === true && clientStatus !== 'unknown'),
  )
}

/** It is under way although all that it wants is there. */
function isStuck({ deployment = null, job, allocations = [] }: World, { queued }: Decision) {
  const waits = queued.some(([, count]) => count > 0)
  const hasFailed = allocations.some((row) => row.clientStatus === 'failed')
  const isCurrent = deployment?.jobVersion === job?.version && deployment?.status === 'running'
  // Of a job that no node can run it waits for one that can.
  const hasNode = job?.spec.Type !== 'system' || deployment?.groups[0]?.desiredTotal !== 0
  return isCurrent && !waits && !hasFailed && hasNode
}

t.test('repeated, it comes to rest, and then the job is as wanted', async (t) => {
  fc.assert(
    fc.property(worlds, (start: World) => {
      let world = { ...start, nowMs: 10_000_000 }
      for (let round = 0; round < 40; round += 1) {
        const decision = decide(world)
        const broken = brokenRules(world, decision)
        if (broken.length > 0) throw new Error(`round ${round}: ${broken.join('; ')}`)
        const { stop, place, update, deployment } = decision
        const isIdle = stop.length + place.length + update.length + deployment.ends.length === 0
        const isSame = deployment.create === null && deployment.resize === null
        if (isIdle && isSame && areAllHealthy(world)) {
          const later = waited(world, decision) ?? returned(world)
          if (later !== null) {
            world = { ...world, ...later }
            continue
          }
          const next = operated(world)
          if (next === null && isStuck(world, decision)) throw new Error('it never ends')
          if (next === null) return
          world = { ...world, deployment: next }
        } else {
          world = { ...world, ...after(world, decision, round) }
        }
      }
      throw new Error('it goes on for ever')
    }),
    { numRuns: amount('SCHEDULER_ROUNDS', { gate: 500, long: 12_000 }) },
  )
  t.pass('for all worlds')
})
