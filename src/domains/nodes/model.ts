/**
 * Client nodes: machines whose client agents hold an uplink. What one tells of its machine, the record that the cluster keeps of
 * it, and the events of the record. A node and the node of the catalog are one machine, with one id and one name.
 */
import { Type, type Static } from 'typebox'
import { uuidPattern } from '../../lib/uuid.ts'
import { TimeMs } from '../define.ts'

export const nodesVersion = 10
/** Nodes have events of their drivers from this command version on. */
export const driverEventsVersion = 16

/** Last events that a node keeps. */
const eventsMax = 10
/** Nodes of one entry that changes many. */
export const nodesPerEntryMax = 256
const pairsMax = 512
const listMax = 64
/** Of what an agent tells, and of what a drain is given, as JSON: a row holds both. */
const specLengthMax = 65_536
const drainMetaLengthMax = 8_192
/** The last one that a date has. */
const timeMsMax = 8_640_000_000_000_000

const Short = Type.String({ maxLength: 256 })
export const nodeNameLengthMax = 128
const NodeName = Type.String({ minLength: 1, maxLength: nodeNameLengthMax })
export const NodeId = Type.String({ pattern: uuidPattern.source })
const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Pairs = Type.Array(Type.Tuple([Short, Type.String({ maxLength: 2_048 })]), {
  maxItems: pairsMax,
})

const Network = Type.Object({ device: Short, ip: Short, cidr: Short, mbits: Whole, mode: Short })

const NodeNetwork = Type.Object({
  device: Short,
  macAddress: Short,
  mode: Short,
  addresses: Type.Array(
    Type.Object({ address: Short, alias: Short, family: Short, gateway: Short }),
    { maxItems: listMax },
  ),
})

const Driver = Type.Object({
  name: Short,
  attributes: Pairs,
  detected: Type.Boolean(),
  healthy: Type.Boolean(),
  healthDescription: Short,
  updateTimeMs: TimeMs,
})

const Told = Type.Object({
  name: NodeName,
  datacenter: Short,
  nodeClass: Short,
  /** Host of its API, and host:port. */
  address: Short,
  httpAddr: Short,
  tlsEnabled: Type.Boolean(),
  /** Of the program. */
  version: Short,
  attributes: Pairs,
  meta: Pairs,
  links: Pairs,
  hostVolumes: Type.Array(
    Type.Object({
      name: Short,
      path: Type.String({ maxLength: 4_096 }),
      readOnly: Type.Boolean(),
    }),
    { maxItems: listMax },
  ),
  drivers: Type.Array(Driver, { maxItems: listMax }),
  resources: Type.Object({
    cpuMhz: Whole,
    memoryMb: Whole,
    diskMb: Whole,
    networks: Type.Array(Network, { maxItems: listMax }),
    nodeNetworks: Type.Array(NodeNetwork, { maxItems: listMax }),
  }),
  reserved: Type.Object({ cpuMhz: Whole, memoryMb: Whole, diskMb: Whole, ports: Short }),
})

/** What a client agent tells of its machine. */
export const NodeSpec = Type.Refine(
  Told,
  (spec) => JSON.stringify(spec).length <= specLengthMax,
  () => `must take at most ${specLengthMax} characters`,
)
export type NodeSpec = Static<typeof Told>

export const SecretHash = Type.String({ pattern: '^[0-9a-f]{64}$' })
export const ComputedClass = Type.String({ maxLength: 64 })

/** `disconnected`: its agent is silent, and what it runs may run on until it is heard again. */
export const nodeStatuses = ['initializing', 'ready', 'down', 'disconnected'] as const
const NodeStatus = Type.Enum([...nodeStatuses])
export type NodeStatus = Static<typeof NodeStatus>

const NodeEvent = Type.Object({
  message: Short,
  /** `Driver`: since `driverEventsVersion`. */
  subsystem: Type.Enum(['Cluster', 'Drain', 'Driver']),
  details: Pairs,
  timeMs: TimeMs,
  /** 0: that of the registration. */
  createIndex: Whole,
})
type NodeEvent = Static<typeof NodeEvent>

/** What a drain is asked to do. Negative: stop everything at once; 0: no deadline. */
export const DrainSpec = Type.Object({
  deadlineNs: Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  ignoreSystemJobs: Type.Boolean(),
})
export type DrainSpec = Static<typeof DrainSpec>

export const DrainMeta = Type.Refine(
  Pairs,
  (meta) => JSON.stringify(meta).length <= drainMetaLengthMax,
  () => `must take at most ${drainMetaLengthMax} characters`,
)

const DrainStrategy = Type.Object({
  ...DrainSpec.properties,
  startedMs: TimeMs,
  /** null: there is no deadline. */
  forceMs: Type.Union([Type.Null(), TimeMs]),
})
export type DrainStrategy = Static<typeof DrainStrategy>

const LastDrain = Type.Object({
  startedMs: TimeMs,
  updatedMs: TimeMs,
  status: Type.Enum(['draining', 'complete', 'canceled']),
  /** Of the token that asked; '': there was none. */
  accessor: Short,
  meta: Pairs,
})

export const NodeRow = Type.Object({
  id: NodeId,
  spec: NodeSpec,
  secretHash: SecretHash,
  computedClass: ComputedClass,
  status: NodeStatus,
  statusUpdatedMs: TimeMs,
  /** Of one that is disconnected: when it is down. */
  disconnectedUntilMs: Type.Optional(TimeMs),
  eligible: Type.Boolean(),
  /** null: it is not draining. */
  drain: Type.Union([Type.Null(), DrainStrategy]),
  /** null: it never was. */
  lastDrain: Type.Union([Type.Null(), LastDrain]),
  /** The oldest first. */
  events: Type.Array(NodeEvent, { maxItems: eventsMax }),
  /** It is away, and nobody meant it to go: the storm that it was lost in, and since when. */
  lost: Type.Optional(Type.Object({ storm: Whole, timeMs: TimeMs })),
  createIndex: Whole,
  modifyIndex: Whole,
})
export type NodeRow = Static<typeof NodeRow>

/** Nobody has heard of it in time. */
export function isAway({ status }: Pick<NodeRow, 'status'>): boolean {
  return status !== 'ready' && status !== 'initializing'
}

/** The storm brake holds back what would take the place of its work. `storm`: that it holds; null: it is off. */
export function isHeldBack({ lost }: Pick<NodeRow, 'lost'>, storm: number | null): boolean {
  return storm !== null && lost?.storm === storm
}

/** Its work was to leave it, or has: its going is no loss. */
export function isMeantToGo({ drain, lastDrain, eligible }: NodeRow): boolean {
  return drain !== null || (lastDrain?.status === 'complete' && !eligible)
}

export type Happened = {
  readonly message: string
  readonly subsystem: NodeEvent['subsystem']
  readonly details?: [string, string][]
}

export function withEvent(
  row: NodeRow,
  { message, subsystem, details = [] }: Happened,
  { index, nowMs }: { readonly index: number; readonly nowMs: number },
): NodeRow {
  const event = { message, subsystem, details, timeMs: nowMs, createIndex: index }
  return { ...row, events: [...row.events, event].slice(-eventsMax), modifyIndex: index }
}

/** Until when a drain may take that begins now. */
export function strategyOf(spec: DrainSpec, nowMs: number, startedMs: number): DrainStrategy {
  const { deadlineNs } = spec
  const endMs = Math.min(timeMsMax, Math.max(0, nowMs + Math.trunc(deadlineNs / 1e6)))
  return { ...spec, startedMs, forceMs: deadlineNs === 0 ? null : endMs }
}

/** Of an allocation: it is marked to move, and was still there when the drain's time was over. */
export function wasForced(
  { deadlineNs, startedMs, forceMs }: DrainStrategy,
  { migrate, modifyMs }: { readonly migrate: boolean; readonly modifyMs: number },
): boolean {
  if (forceMs === null || !migrate) return false
  // A negative deadline lies before the request.
  return modifyMs >= (deadlineNs < 0 ? startedMs : forceMs)
}
