/**
 * Events: what changed, told as it changes, from this server's copy of the log. Other domains give topics (their
 * `topics.ts`), `registry.ts` hands them over, and nothing here knows any of them. Other folders import nothing from here.
 *
 * The invariant the folder guards: a reader is told every event that it asked for and may see, once and in the order of
 * the log, or it is told that this ends.
 *
 * This file: a topic, and an event as readers get it.
 */
import type { Reader, Table } from '../../fsm/domain.ts'
import type { LeastRight, Requirement } from '../../rpc/method.ts'

/** What a topic tells of one row. */
export type Description = {
  readonly key: string
  /** '': it is in none, and no request leaves it out for that. */
  readonly namespace: string
  /** Other names that a reader may ask for it by. */
  readonly filterKeys: readonly string[]
  /** Of the row's last change. */
  readonly modifyIndex: number
  /** As the API shows the thing: plain data, and bigints. */
  readonly payload: unknown
  /** All of this a reader must be allowed. */
  readonly requires: readonly Requirement[]
}

export type Topic<Row> = {
  readonly name: string
  readonly table: Table<Row>
  /** Of events. A snapshot's have the first. */
  readonly types: { readonly written: string; readonly removed: string }
  /** The right that a subscription to it by name needs; null: none, each event is judged for itself. */
  readonly requires: Requirement | null
  /** A caller without all of these, to whatever it be, is shown none of its events. */
  readonly least: readonly LeastRight[]
  /**
   * The table's keys are namespace and event key, and `filterKeys` is empty: a snapshot of what is below a prefix need not
   * read the rest.
   */
  readonly inKeyOrder: boolean
  readonly describe: (row: Row) => Description
  /** Stored rows of one state as other reads show them, null for one that they do not; absent: as they are stored. */
  readonly shown?: (reader: Reader) => (row: Row) => Row | null
}

/** A topic whose rows only its own domain knows. */
export type AnyTopic = Omit<Topic<never>, 'describe' | 'shown'> & {
  readonly describe: (row: never) => Description
  readonly shown?: (reader: Reader) => (row: never) => unknown
}

/** Shared by all its readers. */
export type TopicEvent = {
  readonly topic: AnyTopic
  readonly key: string
  readonly namespace: string
  readonly filterKeys: readonly string[]
  readonly requires: readonly Requirement[]
  /** JSON. */
  readonly text: string
}

/** JSON of plain data and bigints; `api/json.ts` has it. */
export type EncodeJson = (value: unknown) => string

/** `index`: null for what a snapshot tells, which is of the row's last change. */
export function eventOf(
  topic: AnyTopic,
  change: { readonly row: unknown; readonly removed: boolean; readonly index: number | null },
  encode: EncodeJson,
): TopicEvent {
  const described = topic.describe(change.row as never)
  const { key, namespace, filterKeys, requires, modifyIndex, payload } = described
  const text = encode({
    Topic: topic.name,
    Type: change.removed ? topic.types.removed : topic.types.written,
    Key: key,
    Namespace: namespace,
    FilterKeys: filterKeys,
    Index: change.index ?? modifyIndex,
    Payload: payload,
  })
  return { topic, key, namespace, filterKeys, requires, text }
}
