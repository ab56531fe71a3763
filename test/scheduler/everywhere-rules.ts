/** The rules of jobs that run on every node, and of their deployments. */
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import type { World } from './cluster.ts'
import { isLive, isOut, over, stoppedIds, wanted } from './cut-off-rules.ts'

/** Whether it can take an allocation of the job now. */
export function fits({ status, eligible, drain, spec }: NodeRow, world: World): boolean {
  if (status !== 'ready' || !eligible || drain !== null) return false
  const disk = world.job?.spec.Constraints.find(({ LTarget }) => LTarget === '${meta.disk}')
  const meta = new Map(spec.meta)
  return (
    (world.job?.spec.Datacenters ?? []).includes(spec.datacenter) &&
    spec.drivers.some(({ name, healthy }) => name === 'mock_driver' && healthy) &&
    (disk === undefined || meta.get('disk') === disk.RTarget)
  )
}

/** That the newest version is a part of, unless it ended well. */
export function currentOf({ job, deployment = null }: World): DeploymentRow | null {
  if (job === null || job.stop || deployment === null) return null
  const isOver = deployment.status === 'successful' || deployment.status === 'cancelled'
  return deployment.jobVersion === job.version && !isOver ? deployment : null
}

/** How many canaries there are to be; 0: the version does without, or they are promoted. */
export function canariesOf(world: World, { deployment }: Decision): number {
  const [made] = deployment.create?.groups ?? []
  if (made !== undefined) return made.desiredCanaries
  const [state] = currentOf(world)?.groups ?? []
  if (state === undefined || state.promoted || state.desiredCanaries === 0) return 0
  return deployment.resize?.groups[0]?.desiredCanaries ?? state.desiredCanaries
}

/** After the plan no node has two, and each that fits has one or is queued. */
export function oneOnEach(world: World, decision: Decision): string[] {
  const { job, nodes, allocations = [] } = world
  if (job === null || job.stop) return decision.place.length > 0 ? ['a job that is over grows'] : []
  const gone = stoppedIds(decision)
  const broken: string[] = []
  const group = job.spec.TaskGroups[0]
  // While canaries are tried the others keep the older version, where there is one.
  const waits =
    canariesOf(world, decision) > 0 && allocations.every((row) => row.jobVersion === job.version)
  let without = 0
  for (const node of nodes) {
    const here =
      allocations.filter(
        (row) => row.nodeId === node.id && wanted(row) && !over(row) && !gone.has(row.id),
      ).length + decision.place.filter(({ allocation }) => allocation.nodeId === node.id).length
    if (here > 1) broken.push(`${node.id} has ${here}`)
    const ended = allocations.some(
      (row) =>
        row.nodeId === node.id &&
        wanted(row) &&
        row.jobVersion === job.version &&
        (row.clientStatus === 'failed' || row.clientStatus === 'complete'),
    )
    const isWanted = group !== undefined && group.Count > 0 && !waits
    if (isWanted && here === 0 && !ended && fits(node, world)) without += 1
  }
  const queued = decision.queued.reduce((sum, [, count]) => sum + count, 0)
  if (without > queued) broken.push(`${without} nodes have none, ${queued} are queued`)
  return broken
}

/** Canaries take the places of what their nodes ran, no more of them than wanted; the rest stays, and comes back, as it was. */
export function canariesEverywhere(world: World, decision: Decision): string[] {
  const { job, allocations = [] } = world
  const current = currentOf(world)
  const most = canariesOf(world, decision)
  const gone = stoppedIds(decision)
  const broken: string[] = []
  const placed = decision.place.filter(({ allocation }) => allocation.canary === true)
  // Also those whose places are free only once they have ended.
  const replaced = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])].filter(
    ({ desiredDescription }) => /being updated/.test(desiredDescription),
  )
  if (current !== null && current.status !== 'running' && replaced.length > 0) {
    broken.push(`older ones are replaced while it is ${current.status}`)
  }
  if (most === 0) {
    if (placed.length > 0) broken.push('canaries come that nobody wants')
    const older = decision.place.filter(({ allocation }) => allocation.jobVersion !== job?.version)
    return older.length > 0 ? [...broken, 'an older version comes back'] : broken
  }
  const id = decision.deployment.create?.id ?? current?.id
  const own = allocations.filter(
    (row) =>
      row.canary === true &&
      row.deploymentId === id &&
      isLive(row) &&
      !isOut(world, row) &&
      !gone.has(row.id),
  )
  if (replaced.length > 0 && own.length + replaced.length > most) {
    broken.push(`${own.length} canaries are there and ${replaced.length} come for ${most}`)
  }
  if (current?.status === 'failed' && placed.length > 0)
    broken.push('canaries come after it failed')
  for (const { allocation, stop } of decision.place) {
    const isNewest = allocation.jobVersion === job?.version
    if (isNewest !== (allocation.canary === true)) broken.push(`${allocation.nodeId} is no canary`)
    if (!isNewest && stop !== null) broken.push(`${stop.id} is replaced by an older one`)
  }
  return broken
}

/** A deployment wants one on each node that fits or runs the newest version; but for those that have none, and no room. */
export function countsEverywhere(world: World, decision: Decision): string[] {
  const { job, nodes, allocations = [] } = world
  const { create, resize } = decision.deployment
  const [counts] = (create ?? resize)?.groups ?? []
  const [group] = job?.spec.TaskGroups ?? []
  if (counts === undefined || job === null || group === undefined) return []
  const gone = stoppedIds(decision)
  const updated = new Set(decision.update.map(({ id }) => id))
  const takes = group.Count === 0 ? [] : nodes.filter((node) => fits(node, world))
  const outside = allocations.filter(
    (row) =>
      wanted(row) &&
      !over(row) &&
      !gone.has(row.id) &&
      !isOut(world, row) &&
      (row.jobVersion === job.version || updated.has(row.id)) &&
      !takes.some(({ id }) => id === row.nodeId),
  )
  // Of one that is just back nobody heard, but its node is there.
  const unheard = allocations.filter((row) => isOut(world, row) && row.clientStatus === 'unknown')
  const total = takes.length + outside.length
  const waiting = decision.queued.reduce((sum, [, count]) => sum + count, 0)
  const { desiredTotal, desiredCanaries } = counts
  const broken: string[] = []
  if (desiredTotal < total - waiting || desiredTotal > total + unheard.length) {
    broken.push(`${desiredTotal} are wanted for ${total} nodes, ${waiting} wait`)
  }
  const percent = group.Update?.Canary ?? 0
  const most = Math.max(1, Math.ceil((percent * (total + unheard.length)) / 100))
  const state: DeploymentRow['groups'][number] | undefined = currentOf(world)?.groups[0]
  const isTried = state === undefined || (!state.promoted && state.desiredCanaries > 0)
  if (isTried && desiredCanaries > most) {
    broken.push(`${desiredCanaries} canaries of ${total}`)
  }
  return broken
}
