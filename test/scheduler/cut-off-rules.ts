/** The rules of what is cut off with its node, and the words that all rules are said in. */
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import type { World } from './cluster.ts'

export function isEverywhere({ job }: World): boolean {
  return job?.spec.Type === 'system' || job?.spec.Type === 'sysbatch'
}

export const over = (row: AllocationRow) =>
  ['complete', 'failed', 'lost'].includes(row.clientStatus)
export const wanted = (row: AllocationRow) => row.desiredStatus === 'run'

export function stoppedIds({ stop, place }: Decision): ReadonlySet<string> {
  const replaced = place.flatMap(({ stop }) => (stop === null ? [] : [stop.id]))
  return new Set([...stop.map(({ id }) => id), ...replaced])
}

const groupOf = ({ specs, job }: World, { jobVersion }: AllocationRow) =>
  (specs?.[jobVersion] ?? job?.spec)?.TaskGroups[0]

/** With its node, of a group that lets it: for as long as the window is open, what ran there may come back. */
export function where(world: World, row: AllocationRow): 'there' | 'away' | 'lost' {
  const node = world.nodes.find(({ id }) => id === row.nodeId)
  if (node === undefined || node.status === 'down') return 'lost'
  if (node.status !== 'disconnected') return 'there'
  const windowNs = groupOf(world, row)?.MaxClientDisconnect ?? null
  if (windowNs === null || row.clientStatus === 'pending') return 'lost'
  const untilMs = node.statusUpdatedMs + windowNs / 1e6
  return (world.nowMs ?? 1_000_000) < untilMs ? 'away' : 'lost'
}

export const isLive = (row: AllocationRow) => wanted(row) && !over(row)

/** Nobody knows whether it runs: cut off, or just back and not heard yet. */
export function isOut(world: World, row: AllocationRow): boolean {
  const place = where(world, row)
  if (!isLive(row) || place === 'lost') return false
  return !row.migrate && (place === 'away' || row.clientStatus === 'unknown')
}

/** What is cut off and stays is known as such, and nothing else is. */
export function cutOff(world: World, decision: Decision): string[] {
  const { job, allocations = [] } = world
  const gone = stoppedIds(decision)
  const named = new Set(decision.unknown)
  const isOver = job === null || job.stop
  const expected = allocations.filter(
    (row) => !isOver && isOut(world, row) && where(world, row) === 'away' && !gone.has(row.id),
  )
  const news = expected.filter(({ clientStatus }) => clientStatus !== 'unknown')
  const broken = news.flatMap(({ id }) =>
    named.has(id) ? [] : [`${id} is cut off, and not named`],
  )
  if (named.size !== news.length) broken.push(`as cut off are named ${[...named].join()}`)
  if (expected.length > 0 !== (decision.cutOffUntilMs !== null)) {
    broken.push(`it is looked at again at ${decision.cutOffUntilMs}`)
  }
  return broken
}

/** Of several of a name and version that run, the oldest is the one that may stay: the others took its place. */
export function returns(world: World, decision: Decision): string[] {
  const { allocations = [] } = world
  if (isEverywhere(world)) return []
  const gone = stoppedIds(decision)
  const running = allocations.filter(
    (row) =>
      isLive(row) &&
      row.clientStatus === 'running' &&
      where(world, row) === 'there' &&
      !row.migrate &&
      row.canary !== true,
  )
  return running.flatMap(({ id, name, jobVersion, createIndex }) => {
    const older = running.find(
      (row) => row.name === name && row.jobVersion === jobVersion && row.createIndex < createIndex,
    )
    return older === undefined || gone.has(id) ? [] : [`${id} stays, and ${older.id} is back`]
  })
}

/** It was lost, and its agent ends it by itself a while later: how long that may take; 0: it does not. */
function endsMs(world: World, row: AllocationRow): number {
  const group = groupOf(world, row)
  const afterNs = group?.StopAfterClientDisconnect ?? null
  const [task] = group?.Tasks ?? []
  return afterNs === null ? 0 : (afterNs + (task?.KillTimeout ?? 0)) / 1e6
}

/** Lost with this decision, or before it, where agents end what they run by themselves. */
export function endsAlone(world: World, row: AllocationRow): boolean {
  if (endsMs(world, row) === 0) return false
  if (isLive(row)) return where(world, row) === 'lost'
  return row.clientStatus === 'lost' && /is lost/.test(row.desiredDescription) && !wanted(row)
}

/** It may still run. */
export function isLeaving(world: World, row: AllocationRow): boolean {
  const nowMs = world.nowMs ?? 1_000_000
  return endsAlone(world, row) && (isLive(row) || nowMs < row.modifyMs + endsMs(world, row))
}

/** Nothing takes the place of what may still run. */
export function leaves(world: World, decision: Decision): string[] {
  const { allocations = [] } = world
  if (isEverywhere(world)) return []
  return decision.place.flatMap(({ allocation: { name, canary } }) => {
    const named = allocations.filter((row) => row.name === name)
    const [only] = named
    // Canaries stand beside the others.
    if (only === undefined || named.length > 1 || canary === true || only.canary === true) return []
    return isLeaving(world, only) ? [`${name} is placed while ${only.id} may run`] : []
  })
}
