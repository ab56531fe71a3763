/** Changes of client nodes. A status is what the leader found; all else is what the agent or an operator said. */
import { Type, type Static } from 'typebox'
import { dateText } from '../../lib/date-text.ts'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, removeRow, replace, TimeMs } from '../define.ts'
import { linkedWorkloadsVersion, workloadsVersion } from '../evaluations/model.ts'
import { brakeChanges, lossOf } from './brake-commands.ts'
import type { Storm } from './brake-model.ts'
import { heldStormOf, stormAt } from './brake-queries.ts'
import { factsOf } from './fact-model.ts'
import {
  ComputedClass,
  DrainMeta,
  DrainSpec,
  driverEventsVersion,
  isAway,
  isHeldBack,
  NodeId,
  NodeSpec,
  nodesPerEntryMax,
  nodeStatuses,
  nodesVersion,
  SecretHash,
  strategyOf,
  withEvent,
  type Happened,
  type NodeRow,
} from './model.ts'
import { nodeById } from './queries.ts'
import { nodes } from './table.ts'

/** Nodes of one look at who is silent. */
const followingMax = 1_000_000

type Now = { readonly index: number; readonly nowMs: number }

export type RegisterOutcome =
  | { readonly type: 'registered'; readonly row: NodeRow; readonly created: boolean }
  /** The node is known by another secret. */
  | { readonly type: 'otherSecret' }

/** The row after the change, or why there was none. */
export type NodeOutcome =
  | { readonly type: 'changed'; readonly row: NodeRow }
  | { readonly type: 'same'; readonly row: NodeRow }
  | { readonly type: 'unknown' }
  | { readonly type: 'draining' }

const cluster = (message: string): Happened => ({ message, subsystem: 'Cluster' })
const drain = (message: string): Happened => ({ message, subsystem: 'Drain' })
const missed = cluster('Node heartbeat missed')

export const registerNode = defineCommand({
  type: 'nodes.register',
  since: nodesVersion,
  args: Type.Object({
    id: NodeId,
    spec: NodeSpec,
    secretHash: SecretHash,
    computedClass: ComputedClass,
    nowMs: TimeMs,
  }),
  load: (reader, { id }) => ({
    before: nodeById(reader, id),
    tellsDrivers: reader.commandVersion >= driverEventsVersion,
  }),
  apply: ({ index }, { nowMs, ...told }, { before, tellsDrivers }): Applied<RegisterOutcome> => {
    if (before === null) {
      const row: NodeRow = {
        ...told,
        status: 'initializing',
        statusUpdatedMs: nowMs,
        eligible: true,
        drain: null,
        lastDrain: null,
        events: [],
        createIndex: index,
        modifyIndex: index,
      }
      // The one event whose index is 0, as Nomad's tools know it.
      const created = withEvent(row, cluster('Node registered'), { index: 0, nowMs })
      const made = { ...created, modifyIndex: index }
      return {
        changes: [put(nodes, made)],
        outcome: { type: 'registered', row: made, created: true },
      }
    }
    if (before.secretHash !== told.secretHash) {
      return { changes: [], outcome: { type: 'otherSecret' } }
    }
    const now = { index, nowMs }
    const { spec, computedClass } = told
    const changed: NodeRow = { ...before, spec, computedClass, modifyIndex: index }
    const back = isAway(before) ? withEvent(changed, cluster('Node re-registered'), now) : changed
    const news = tellsDrivers ? driverNews(before.spec.drivers, spec.drivers) : []
    const row = news.reduce((one, happened) => withEvent(one, happened, now), back)
    const facts = row.status === 'ready' ? factsOf(row.id, { offers: true }) : []
    return {
      changes: [replace(nodes, before, row)],
      outcome: { type: 'registered', row, created: false },
      happened: { nowMs, facts },
    }
  },
})

/** Of those that were there before. */
function driverNews(before: NodeSpec['drivers'], after: NodeSpec['drivers']): readonly Happened[] {
  return after.flatMap(({ name, detected, healthy, healthDescription }) => {
    const known = before.find((driver) => driver.name === name)
    if (known === undefined) return []
    if (known.healthy === healthy && known.detected === detected) return []
    const word = healthy ? 'healthy' : detected ? 'unhealthy' : 'not there'
    const message = healthDescription === '' ? `Driver is ${word}` : healthDescription
    return [{ message, subsystem: 'Driver', details: [['driver', name]] }]
  })
}

const StatusUpdate = Type.Object({
  id: NodeId,
  /** Since `settledWorkloadsVersion` also `disconnected`, and `initializing` of one that was. */
  status: Type.Enum([...nodeStatuses]),
  /** Why it is silent: its heartbeats are missed, or gossip says that the machine failed and no server has its uplink. */
  cause: Type.Enum(['heartbeat', 'failed']),
  /** Since `workloadsVersion`: its agent said that it leaves. */
  left: Type.Optional(Type.Literal(true)),
  /** Of one that is disconnected: when it is down. */
  untilMs: Type.Optional(TimeMs),
})
export type StatusUpdate = Static<typeof StatusUpdate>

/** Many at once. Nodes that are unknown, or are so already, stay as they are. */
export const updateStatus = defineCommand({
  type: 'nodes.status',
  since: nodesVersion,
  args: Type.Object({
    updates: Type.Array(StatusUpdate, { maxItems: nodesPerEntryMax }),
    /** Since `workloadsVersion`: nodes that were found down with these, and that the next entries tell. */
    following: Type.Optional(Type.Integer({ minimum: 0, maximum: followingMax })),
    nowMs: TimeMs,
  }),
  load: async (reader, { updates, following = 0, nowMs }) => ({
    rows: rowsOf(reader, updates),
    storm: await stormAt(reader, nowMs, updates.filter(isAway).length + following),
  }),
  apply: (
    { index },
    { updates, following = 0, nowMs },
    { rows, storm },
  ): Applied<{ readonly changed: readonly string[] }> => {
    const now = { index, nowMs }
    const changes = updates.flatMap((update) => {
      const before = rows.get(update.id)
      if (before === undefined || before.status === update.status) return []
      return [{ before, row: statusChanged(before, update, now, storm) }]
    })
    return {
      changes: [
        ...changes.map(({ before, row }) => replace(nodes, before, row)),
        ...brakeChanges(storm, changes, following, now),
      ],
      outcome: { changed: changes.map(({ row }) => row.id) },
      happened: {
        nowMs,
        facts: changes.flatMap(({ row }) => factsOf(row.id, { offers: row.status === 'ready' })),
      },
    }
  },
})

function statusChanged(
  before: NodeRow,
  update: StatusUpdate,
  now: Now,
  storm: Storm | null,
): NodeRow {
  const { status, cause, untilMs, left } = update
  const { disconnectedUntilMs: _over, lost: _back, ...rest } = before
  const row = { ...rest, status, statusUpdatedMs: now.nowMs, modifyIndex: now.index }
  const lost = lossOf(before, left, now.nowMs, storm)
  switch (status) {
    case 'ready':
    case 'initializing':
      return isAway(before) ? withEvent(row, cluster('Node reregistered by heartbeat'), now) : row
    case 'disconnected': {
      const disconnectedUntilMs = untilMs ?? now.nowMs
      const details: [string, string][] = [
        ...witnessOf(cause),
        ['disconnected_until', dateText(disconnectedUntilMs)],
      ]
      return withEvent({ ...row, ...lost, disconnectedUntilMs }, { ...missed, details }, now)
    }
    case 'down': {
      const details: [string, string][] =
        before.status === 'disconnected' ? [['disconnected', 'too long']] : witnessOf(cause)
      const down = withEvent({ ...row, ...lost }, { ...missed, details }, now)
      // What was to be moved is lost with the machine.
      return down.drain === null ? down : drained(down, now)
    }
  }
}

function witnessOf(cause: StatusUpdate['cause']): [string, string][] {
  return cause === 'failed' ? [['witness', 'gossip']] : []
}

export const setEligibility = defineCommand({
  type: 'nodes.eligibility',
  since: nodesVersion,
  args: Type.Object({ id: NodeId, eligible: Type.Boolean(), nowMs: TimeMs }),
  load: (reader, { id }) => nodeById(reader, id),
  apply: ({ index }, { eligible, nowMs }, before): Applied<NodeOutcome> => {
    if (before === null) return refused({ type: 'unknown' })
    if (before.eligible === eligible) return refused({ type: 'same', row: before })
    if (eligible && before.drain !== null) return refused({ type: 'draining' })
    return changed(before, withEligibility(before, eligible, { index, nowMs }), nowMs)
  },
})

export const setDrain = defineCommand({
  type: 'nodes.drain',
  since: nodesVersion,
  args: Type.Object({
    id: NodeId,
    /** null: stop draining. */
    spec: Type.Union([Type.Null(), DrainSpec]),
    /** Where it stops draining: take work again. */
    markEligible: Type.Boolean(),
    accessor: Type.String({ maxLength: 64 }),
    meta: DrainMeta,
    nowMs: TimeMs,
  }),
  load: (reader, { id }) => nodeById(reader, id),
  apply: ({ index }, args, before): Applied<NodeOutcome> => {
    const { spec, markEligible, accessor, meta, nowMs } = args
    const now = { index, nowMs }
    if (before === null) return refused({ type: 'unknown' })
    if (spec !== null) {
      const startedMs = before.drain?.startedMs ?? nowMs
      const row: NodeRow = {
        ...before,
        eligible: false,
        drain: strategyOf(spec, nowMs, startedMs),
        lastDrain: { startedMs, updatedMs: nowMs, status: 'draining', accessor, meta },
      }
      const word = before.drain === null ? 'set' : 'updated'
      return changed(before, withEvent(row, drain(`Node drain strategy ${word}`), now), nowMs)
    }
    if (before.drain === null) {
      if (!markEligible || before.eligible) return refused({ type: 'same', row: before })
      return changed(before, withEligibility(before, true, now), nowMs)
    }
    const row: NodeRow = {
      ...before,
      drain: null,
      eligible: markEligible,
      lastDrain: ended(before, 'canceled', nowMs),
    }
    return changed(before, withEvent(row, drain('Node drain disabled'), now), nowMs)
  },
})

/** Of nodes that have nothing left to stop. Those that are not draining stay as they are. */
export const completeDrains = defineCommand({
  type: 'nodes.drained',
  since: nodesVersion,
  args: Type.Object({
    nodes: Type.Array(
      Type.Object({
        id: NodeId,
        /** Since `workloadsVersion`: something was left then, and was stopped. */
        deadlineReached: Type.Optional(Type.Boolean()),
      }),
      { maxItems: nodesPerEntryMax },
    ),
    nowMs: TimeMs,
  }),
  load: (reader, args) => ({
    rows: rowsOf(reader, args.nodes),
    tellsDeadline: reader.commandVersion >= workloadsVersion,
  }),
  apply: ({ index }, args, { rows, tellsDeadline }): Applied<{ readonly count: number }> => {
    const changes = args.nodes.flatMap(({ id, deadlineReached = false }) => {
      const before = rows.get(id)
      if (before === undefined || before.drain === null) return []
      const now = { index, nowMs: args.nowMs }
      return [replace(nodes, before, drained(before, now, tellsDeadline && deadlineReached))]
    })
    return { changes, outcome: { count: changes.length } }
  },
})

export const purgeNode = defineCommand({
  type: 'nodes.purge',
  since: nodesVersion,
  args: Type.Object({
    id: NodeId,
    /** Since `workloadsVersion`; before, nothing follows. */
    nowMs: Type.Optional(TimeMs),
  }),
  load: async (reader, { id, nowMs = 0 }) => {
    const before = nodeById(reader, id)
    // One that was lost and is given up is lost no more. That others are fewer makes no storm.
    const isHeld = before !== null && isHeldBack(before, heldStormOf(reader))
    return { before, storm: isHeld ? await stormAt(reader, nowMs, 0) : null }
  },
  apply: ({ index }, { id, nowMs = 0 }, { before, storm }): Applied<{ readonly purged: boolean }> =>
    before === null
      ? { changes: [], outcome: { purged: false } }
      : {
          changes: [
            removeRow(nodes, before),
            ...brakeChanges(storm, [{ before, row: null }], 0, { index, nowMs }),
          ],
          outcome: { purged: true },
          happened: { nowMs, facts: factsOf(id, { offers: false }) },
        },
})

/** The node stays as it is. The outcome has its index; null: it is unknown. */
export const evaluateNode = defineCommand({
  type: 'nodes.evaluate',
  since: workloadsVersion,
  args: Type.Object({ id: NodeId, nowMs: TimeMs }),
  load: (reader, { id }) => ({
    before: nodeById(reader, id),
    unchanged: reader.commandVersion >= linkedWorkloadsVersion,
  }),
  apply: (
    _context,
    { id, nowMs },
    { before, unchanged },
  ): Applied<{ readonly modifyIndex: number | null }> =>
    before === null
      ? { changes: [], outcome: { modifyIndex: null } }
      : {
          changes: [],
          outcome: { modifyIndex: before.modifyIndex },
          happened: { nowMs, facts: factsOf(id, { offers: true, unchanged }) },
        },
})

export const nodeCommands = commandsByType([
  registerNode,
  updateStatus,
  setEligibility,
  setDrain,
  completeDrains,
  purgeNode,
  evaluateNode,
])

function rowsOf(
  reader: Reader,
  named: readonly { readonly id: string }[],
): ReadonlyMap<string, NodeRow> {
  const rows = new Map<string, NodeRow>()
  for (const { id } of named) {
    const row = nodeById(reader, id)
    if (row !== null) rows.set(id, row)
  }
  return rows
}

function withEligibility(row: NodeRow, eligible: boolean, now: Now): NodeRow {
  const word = eligible ? 'eligible' : 'ineligible'
  return withEvent({ ...row, eligible }, cluster(`Node marked as ${word} for scheduling`), now)
}

/** It stays ineligible. */
function drained(row: NodeRow, now: Now, deadlineReached = false): NodeRow {
  const over = { ...row, drain: null, lastDrain: ended(row, 'complete', now.nowMs) }
  const details: [string, string][] = deadlineReached ? [['deadline_reached', 'true']] : []
  return withEvent(over, { ...drain('Node drain complete'), details }, now)
}

function ended({ lastDrain }: NodeRow, status: 'complete' | 'canceled', nowMs: number) {
  return lastDrain === null ? null : { ...lastDrain, status, updatedMs: nowMs }
}

/** By an operator. */
function changed(before: NodeRow, row: NodeRow, nowMs: number): Applied<NodeOutcome> {
  const facts = row.eligible && !before.eligible ? factsOf(row.id, { offers: true }) : []
  return {
    changes: [replace(nodes, before, row)],
    outcome: { type: 'changed', row },
    happened: { nowMs, facts },
  }
}

function refused(outcome: NodeOutcome): Applied<NodeOutcome> {
  return { changes: [], outcome }
}
