/** The log as a stupid thing: every entry in a map, every step a copy. What a restart finds is judged by it. */
import { isDeepStrictEqual } from 'node:util'
import { present } from '../../../src/lib/assert.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Entry, HardState, LogIndex, SnapshotMeta } from '../../../src/raft/core/message.ts'
import { emptySnapshot } from '../../../src/raft/storage/log-map.ts'
import type { LogStore, LogWrite, RecoveredLog } from '../../../src/raft/storage/log-store.ts'

export type Step =
  | { readonly type: 'write'; readonly writes: readonly LogWrite[] }
  | { readonly type: 'compact'; readonly snapshot: SnapshotMeta }
  | { readonly type: 'reset'; readonly snapshot: SnapshotMeta; readonly hardState: HardState }

export type Model = {
  readonly base: SnapshotMeta
  readonly hardState: HardState
  readonly lastIndex: LogIndex
  /** Also those below the base: what the state machine would know. */
  readonly entries: ReadonlyMap<LogIndex, Entry>
}

export const emptyModel: Model = {
  base: emptySnapshot,
  hardState: { term: 0, votedFor: null, commitIndex: 0 },
  lastIndex: 0,
  entries: new Map(),
}

export function perform(store: LogStore, step: Step): Promise<unknown> {
  switch (step.type) {
    case 'write':
      return store.write(step.writes)
    case 'compact':
      return store.compact(step.snapshot)
    case 'reset':
      return store.reset(step.snapshot, step.hardState)
  }
}

/** The model after the step. How far a compaction goes is the log's choice: see `judge`. */
export function after(model: Model, step: Step): Model {
  if (step.type === 'compact') return model
  if (step.type === 'reset') {
    const { snapshot, hardState } = step
    return { base: snapshot, hardState, lastIndex: snapshot.index, entries: new Map() }
  }
  const entries = new Map(model.entries)
  let { hardState, lastIndex } = model
  for (const write of step.writes) {
    if (write.truncateFrom !== null && write.truncateFrom <= lastIndex) {
      for (let index = write.truncateFrom; index <= lastIndex; index++) entries.delete(index)
      lastIndex = write.truncateFrom - 1
    }
    for (const entry of write.entries) entries.set(entry.index, entry)
    lastIndex += write.entries.length
    hardState = write.hardState ?? hardState
  }
  return { base: model.base, hardState, lastIndex, entries }
}

export function withBase(model: Model, index: LogIndex): Model {
  return index === model.base.index ? model : { ...model, base: snapshotAt(model, index) }
}

/** What a state machine that applied up to `index` would say. */
export function snapshotAt(model: Model, index: LogIndex): SnapshotMeta {
  if (index === model.base.index) return model.base
  const { term } = present(model.entries.get(index), `entry ${index}`)
  for (let at = index; at > model.base.index; at--) {
    const entry = present(model.entries.get(at), `entry ${at}`)
    if (entry.kind === 'configuration') {
      const configuration = decodeConfiguration(entry.data)
      return { index, term, configuration, configurationIndex: at }
    }
  }
  return { ...model.base, index, term }
}

/**
 * What is wrong with `recovered` if this model is what was durable; null: nothing.
 * `baseMax` is how far a compaction under way could go.
 */
export function judge(model: Model, recovered: RecoveredLog, baseMax: LogIndex): string | null {
  const { snapshot, lastIndex } = recovered
  if (lastIndex !== model.lastIndex) return `last index ${lastIndex}, not ${model.lastIndex}`
  const most = Math.max(model.base.index, baseMax)
  if (snapshot.index < model.base.index || snapshot.index > most) {
    return `base ${snapshot.index}, not in ${model.base.index} to ${most}`
  }
  const expected = {
    hardState: model.hardState,
    snapshot: snapshotAt(model, snapshot.index),
    runs: [] as { term: number; firstIndex: number }[],
    configurations: [] as string[],
    tail: [] as string[],
  }
  for (let index = snapshot.index + 1; index <= lastIndex; index++) {
    const entry = present(model.entries.get(index), `entry ${index}`)
    if (expected.runs.at(-1)?.term !== entry.term) {
      expected.runs.push({ term: entry.term, firstIndex: index })
    }
    if (entry.kind === 'configuration') expected.configurations.push(text(entry))
    expected.tail.push(text(entry))
  }
  const found = {
    hardState: recovered.hardState,
    snapshot,
    runs: recovered.termRuns,
    configurations: recovered.configurations.map(text),
    tail: recovered.tail.map(text),
  }
  if (isDeepStrictEqual(found, expected)) return null
  return `found ${JSON.stringify(found).slice(0, 600)}\nnot   ${JSON.stringify(expected).slice(0, 600)}`
}

/** All of an entry in a form that compares. */
export function text(entry: Entry): string {
  const data = Buffer.from(entry.data).toString('latin1')
  return `${entry.index} ${entry.term} ${entry.kind} ${data}`
}
