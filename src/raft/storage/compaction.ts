/**
 * How far the log can be cut: whole segments, not beyond what the state machine has made durable,
 * and not into what is kept for followers that are a little behind.
 */
import { assert, present } from '../../lib/assert.ts'
import { decodeConfiguration } from '../core/membership.ts'
import type { LogIndex, SnapshotMeta } from '../core/message.ts'
import { supersedes } from '../core/succession.ts'
import type { LogMap } from './log-map.ts'

export type Retention = {
  /** Both hold: what is kept is at least this much. */
  readonly retainBytes: number
  readonly retainEntries: number
}

/** The base after a compaction, or null when no segment can go. `applied` is what the state machine is durable at. */
export function nextBase(
  map: LogMap,
  applied: SnapshotMeta,
  retention: Retention,
): SnapshotMeta | null {
  let index = map.base.index
  let keptBytes = map.segments.reduce((sum, segment) => sum + segment.end, 0)
  for (let kept = 1; kept < map.segments.length; kept++) {
    keptBytes -= present(map.segments[kept - 1], 'a segment').end
    const candidate = map.firstIndexFrom(kept) - 1
    if (candidate > applied.index) break
    if (keptBytes < retention.retainBytes) break
    if (map.lastIndex - candidate < retention.retainEntries) break
    index = Math.max(index, candidate)
  }
  return index > map.base.index ? baseAt(map, index, applied) : null
}

function baseAt(map: LogMap, index: LogIndex, applied: SnapshotMeta): SnapshotMeta {
  const term = map.termAt(index)
  assert(term !== null, 'the term of the new base is known')
  return { index, term, ...configurationAt(map, index, applied) }
}

/** The configuration in force at `index`: from here on the base is the only place that knows it. */
function configurationAt(
  map: LogMap,
  index: LogIndex,
  applied: SnapshotMeta,
): Pick<SnapshotMeta, 'configuration' | 'configurationIndex'> {
  const entry = map.configurations.findLast(
    (candidate) =>
      candidate.index <= index &&
      !supersedes(map.base.configuration, decodeConfiguration(candidate.data)),
  )
  if (applied.configurationIndex <= index && applied.configurationIndex >= (entry?.index ?? 0)) {
    if (applied.configurationIndex >= map.base.configurationIndex) {
      const { configuration, configurationIndex } = applied
      return { configuration, configurationIndex }
    }
  }
  if (entry !== undefined) {
    return { configuration: decodeConfiguration(entry.data), configurationIndex: entry.index }
  }
  const { configuration, configurationIndex } = map.base
  return { configuration, configurationIndex }
}
