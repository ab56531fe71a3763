/**
 * The rules of a decision, said again without the scheduler's code: what must hold of any plan for any job on any cluster. Each rule names
 * what broke it.
 */
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import type { World } from './cluster.ts'
import {
  cutOff,
  endsAlone,
  isEverywhere,
  isLeaving,
  isLive,
  isOut,
  leaves,
  over,
  returns,
  stoppedIds,
  wanted,
  where,
} from './cut-off-rules.ts'
import {
  canariesEverywhere,
  canariesOf,
  countsEverywhere,
  currentOf,
  fits,
  oneOnEach,
} from './everywhere-rules.ts'

/** Empty: it keeps all of them. */
export function brokenRules(world: World, decision: Decision): readonly string[] {
  return [
    ...stops(world, decision),
    ...capacity(world, decision),
    ...placesAllowed(world, decision),
    ...(isEverywhere(world) ? oneOnEach(world, decision) : counts(world, decision)),
    ...steps(world, decision),
    ...deployments(world, decision),
    ...cutOff(world, decision),
    ...returns(world, decision),
    ...leaves(world, decision),
    ...(isEverywhere(world)
      ? [...canariesEverywhere(world, decision), ...countsEverywhere(world, decision)]
      : canaries(world, decision)),
  ]
}

/** What is stopped was to run, or is lost before it ended; each once; what is on a node that is gone is lost, and nothing else is. */
function stops(world: World, decision: Decision): string[] {
  const { allocations = [] } = world
  const broken: string[] = []
  const ids = stoppedIds(decision)
  const every = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  if (ids.size !== every.length) broken.push('one is stopped twice')
  for (const { id, lost } of every) {
    const row = allocations.find((one) => one.id === id)
    const isLost = row !== undefined && where(world, row) === 'lost' && !over(row)
    if (row === undefined || (!wanted(row) && !isLost)) {
      broken.push(`${id} is stopped, but was not to run`)
    } else if (lost !== isLost) broken.push(`${id}: lost ${lost}`)
  }
  for (const row of allocations) {
    if (!over(row) && where(world, row) === 'lost' && !ids.has(row.id)) {
      broken.push(`${row.id} is on a node that is gone, and stays`)
    }
    const isOver = world.job === null || world.job.stop
    if (isOver && wanted(row) && !over(row) && !ids.has(row.id)) {
      broken.push(`${row.id} of a job that is over stays`)
    }
  }
  return broken
}

/** With all that has not ended, also what is about to, no node has more than it can. */
function capacity({ nodes, allocations = [] }: World, { place }: Decision): string[] {
  const broken: string[] = []
  for (const { id, spec } of nodes) {
    const here = [
      ...allocations.filter((row) => row.nodeId === id && !over(row)),
      ...place.flatMap(({ allocation }) => (allocation.nodeId === id ? [allocation] : [])),
    ]
    if (!place.some(({ allocation }) => allocation.nodeId === id)) continue
    const cpu = here.flatMap(({ resources }) => resources.tasks).map(({ cpuMhz }) => cpuMhz)
    const ports = here.flatMap(({ resources }) => resources.ports).map(({ value }) => value)
    const used = cpu.reduce((sum, one) => sum + one, 0)
    if (used > spec.resources.cpuMhz) broken.push(`${id} has ${used} MHz`)
    if (new Set(ports).size !== ports.length) broken.push(`${id} gives a port twice`)
  }
  return broken
}

function placesAllowed(world: World, { place }: Decision): string[] {
  return place.flatMap(({ allocation: { nodeId, name } }) => {
    const node = world.nodes.find(({ id }) => id === nodeId)
    return node !== undefined && fits(node, world) ? [] : [`${name} is on ${nodeId}`]
  })
}

/** Whether an allocation that ended counts as one of the group all the same. */
function holdsDone({ job }: World, row: AllocationRow): boolean {
  if (job === null || job.spec.Type !== 'batch' || row.jobVersion !== job.version) return false
  return wanted(row) ? row.clientStatus === 'complete' : /drained/.test(row.desiredDescription)
}

/** One that failed and is not placed anew now keeps its place, unless the newest version takes it. */
function holdsFailed(world: World, decision: Decision, row: AllocationRow): boolean {
  if (!wanted(row) || row.clientStatus !== 'failed') return false
  return row.jobVersion === (world.job?.version ?? -1) || !isFilling(world, decision)
}

/** What stays, what is placed and what has no place come to the count, each name once, new names the lowest free ones. */
function counts(world: World, decision: Decision): string[] {
  const { job, allocations = [] } = world
  if (job === null || job.stop) return decision.place.length > 0 ? ['a job that is over grows'] : []
  const group = job.spec.TaskGroups[0]
  if (group === undefined) return []
  const gone = stoppedIds(decision)
  const place = decision.place.filter(({ allocation }) => allocation.canary !== true)
  const stays = allocations.filter(
    (row) =>
      !gone.has(row.id) &&
      !isUnpromoted(world, row) &&
      ((wanted(row) && !over(row)) || holdsDone(world, row) || holdsFailed(world, decision, row)),
  )
  const queued = decision.queued.find(([name]) => name === group.Name)?.[1] ?? 0
  const broken: string[] = []
  const live = stays.filter((row) => isLive(row) && !isOut(world, row))
  const out = stays.filter((row) => isOut(world, row))
  const nameOf = ({ name }: { readonly name: string }): string => name
  const served = new Set([
    ...stays.filter((row) => !out.includes(row)).map(nameOf),
    ...place.map(({ allocation }) => allocation.name),
  ])
  // Of one whose node is back nothing is placed anew before it was heard.
  const coming = new Set(
    out.filter((row) => where(world, row) === 'there' && !served.has(row.name)).map(nameOf),
  )
  const drained = decision.stop.filter(({ desiredDescription }) =>
    /drained/.test(desiredDescription),
  )
  const ended = [
    ...stays.filter((row) => !live.includes(row) && !out.includes(row)),
    ...drained,
    ...allocations.filter((row) => isLeaving(world, row)),
  ]
  const total = live.length + place.length + queued + coming.size
  if (live.length + place.length + coming.size > group.Count) {
    broken.push(`${live.length} stay and ${place.length} come for ${group.Count}`)
  }
  if (isFilling(world, decision) && total + ended.length < group.Count)
    broken.push(`${total} for ${group.Count}`)
  const names = [...live.map(({ name }) => name), ...place.map(({ allocation }) => allocation.name)]
  if (new Set(names).size !== names.length) broken.push(`a name is there twice: ${names.join()}`)
  if (new Set([...names, ...out.map(nameOf)]).size > group.Count) {
    broken.push(`what is cut off stays beyond the count: ${out.map(nameOf).join()}`)
  }
  const replaced = new Set([
    ...allocations.flatMap(({ id, name }) => (gone.has(id) ? [name] : [])),
    ...out.map(nameOf),
    ...allocations.filter((row) => endsAlone(world, row)).map(nameOf),
  ])
  const held = new Set(
    [
      ...stays,
      ...drained.flatMap(({ id }) => rowOf(world, id)),
      ...allocations.filter((row) => isLeaving(world, row)),
    ].map(nameOf),
  )
  const fresh = place.map(({ allocation }) => allocation.name).filter((name) => !replaced.has(name))
  for (const name of fresh) {
    const index = Number(/\[(\d+)\]/.exec(name)?.[1])
    for (let lower = 0; lower < index; lower += 1) {
      const other = `job.web[${lower}]`
      if (!held.has(other) && !names.includes(other)) broken.push(`${name} comes before ${other}`)
    }
  }
  return broken
}

/** An update replaces no more at a time than it may, counting those of the newest version that are not healthy yet. */
function steps(world: World, decision: Decision): string[] {
  const { job, allocations = [] } = world
  const most = job?.spec.TaskGroups[0]?.Update?.MaxParallel ?? 0
  if (job === null || most === 0) return []
  const byId = new Map(allocations.map((row) => [row.id, row]))
  const gone = stoppedIds(decision)
  const replaced = [
    ...decision.place.flatMap(({ stop }) => stop ?? []),
    ...decision.stop.filter(({ desiredDescription }) => /being updated/.test(desiredDescription)),
  ]
  const unhealthy = allocations.filter(
    (row) =>
      wanted(row) &&
      !over(row) &&
      !gone.has(row.id) &&
      !isOut(world, row) &&
      row.jobVersion === job.version &&
      row.health?.healthy !== true,
  ).length
  const broken = replaced.flatMap(({ id }) =>
    byId.get(id)?.jobVersion === job.version ? [`${id} is of the newest version`] : [],
  )
  if (replaced.length > Math.max(0, most - unhealthy)) {
    broken.push(`${replaced.length} are replaced, ${unhealthy} are not healthy, ${most} may be`)
  }
  return broken
}

/** A canary that nobody promoted. */
function isUnpromoted({ deployment = null }: World, row: AllocationRow): boolean {
  const [state] = deployment?.groups ?? []
  return (
    row.canary === true &&
    row.deploymentId === deployment?.id &&
    state !== undefined &&
    state.desiredCanaries > 0 &&
    !state.promoted
  )
}

/** What is missing is placed, and what is older is replaced. */
function isFilling(world: World, decision: Decision): boolean {
  const current = currentOf(world)
  return (current === null || current.status === 'running') && canariesOf(world, decision) === 0
}

/** A deployment begins where an update needs one and there is none, and ends when it is told to or has all that it wants. */
function deployments(world: World, decision: Decision): string[] {
  const { job, deployment = null, allocations = [] } = world
  const { create, ends } = decision.deployment
  const [group] = job?.spec.TaskGroups ?? []
  const current = currentOf(world)
  const broken: string[] = []
  const isSystem = job?.spec.Type === 'system'
  const mayDeploy =
    (isSystem || job?.spec.Type === 'service') && (group?.Update?.MaxParallel ?? 0) > 0
  // Of a system job a version has one deployment, and what was placed before without one stays so.
  const isLate =
    isSystem &&
    (deployment?.jobVersion === job.version ||
      allocations.some(({ jobVersion }) => jobVersion === job.version))
  if (create !== null && (!mayDeploy || isLate || current !== null || job === null || job.stop)) {
    broken.push('a deployment begins that must not')
  }
  const replaces = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])].some(
    ({ desiredDescription }) => /being updated/.test(desiredDescription),
  )
  if (mayDeploy && !isLate && current === null && create === null && replaces) {
    broken.push('an update goes without a deployment')
  }
  const isActive = deployment?.status === 'running' || deployment?.status === 'paused'
  const isOutlived = isActive && current === null
  const cancels = ends.some(({ status }) => status === 'cancelled')
  if (isOutlived !== cancels) broken.push(`a deployment is outlived: ${isOutlived}`)
  if (ends.some(({ status }) => status === 'successful')) {
    const gone = stoppedIds(decision)
    const takes = new Set(world.nodes.flatMap((node) => (fits(node, world) ? [node.id] : [])))
    const live = allocations.filter(
      (row) =>
        isLive(row) &&
        !gone.has(row.id) &&
        !isOut(world, row) &&
        // What is older on a node that takes no work stays there.
        (!isSystem || row.jobVersion === job.version || takes.has(row.nodeId)),
    )
    const isGood = live.every(
      (row) => row.health?.healthy === true && row.jobVersion === job?.version,
    )
    const isIdle = decision.place.length + decision.update.length === 0
    const isAll = isSystem ? live.length > 0 : live.length === group?.Count
    if (!isGood || !isIdle || !isAll || canariesOf(world, decision) > 0) {
      broken.push('a deployment ends too early')
    }
  }
  const active = create?.id ?? (isActive ? current?.id : undefined)
  for (const { allocation } of decision.place) {
    const { jobVersion, deploymentId, name } = allocation
    const expected = mayDeploy && jobVersion === job?.version ? active : undefined
    if (deploymentId !== expected) broken.push(`${name} is of the deployment ${deploymentId}`)
  }
  return broken
}

/** They are no more than wanted, each of another name; while they are tried nothing older is replaced, and none outlives its deployment. */
function canaries(world: World, decision: Decision): string[] {
  const { allocations = [], deployment = null } = world
  const current = currentOf(world)
  const gone = stoppedIds(decision)
  const broken: string[] = []
  const own = allocations.filter((row) => isUnpromoted(world, row) && wanted(row) && !over(row))
  const isTried = current !== null && current === deployment && current.status !== 'failed'
  if (!isTried) {
    for (const { id } of own) if (!gone.has(id)) broken.push(`canary ${id} outlives its deployment`)
  }
  const placed = decision.place.flatMap(({ allocation }) =>
    allocation.canary === true ? [allocation] : [],
  )
  const kept = isTried ? own.filter(({ id }) => !gone.has(id)) : []
  const most = canariesOf(world, decision)
  if (placed.length > 0 && kept.length + placed.length > most) {
    broken.push(`${kept.length} canaries stay and ${placed.length} come for ${most}`)
  }
  if (placed.length > 0 && current !== null && current.status !== 'running') {
    broken.push(`canaries come while it is ${current.status}`)
  }
  const names = placed.map(({ name }) => name)
  const taken = new Set(kept.map(({ name }) => name))
  if (new Set(names).size !== names.length || names.some((name) => taken.has(name))) {
    broken.push(`a canary's name is there twice: ${names.join()}`)
  }
  const stopped = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  const replaces = stopped.some(({ desiredDescription }) =>
    /being updated/.test(desiredDescription),
  )
  if (replaces && !isFilling(world, decision)) broken.push('older ones are replaced all the same')
  return broken
}

function rowOf({ allocations = [] }: World, id: string): readonly AllocationRow[] {
  return allocations.filter((row) => row.id === id)
}
