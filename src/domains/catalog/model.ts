/**
 * The catalog: nodes, the services on them, and the checks that say how they fare. Agents keep their own part of it
 * true, the leader the part that follows from who is alive.
 *
 * This file: the records, their limits, and the comparison that decides whether a registration changes anything.
 */
import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { invalid } from '../../lib/errors.ts'
import { isUuid } from '../../lib/uuid.ts'

/** The check that every agent's node has: whether the agent is a living member. Kept by the leader. */
export const membershipCheckId = 'gossipHealth'
export const membershipCheckName = 'Agent membership'
/** What it says of an agent that lives, is gone, or is nobody's member. */
export const membershipOutputs = {
  alive: 'Agent alive and reachable',
  failed: 'Agent not live or unreachable',
  absent: 'Agent is not a member',
} as const

/** Characters of names and ids of nodes, services and checks. */
export const nameLengthMax = 256
export const addressLengthMax = 256
export const tagsMax = 256
export const tagLengthMax = 512
export const metaPairsMax = 64
export const metaKeyLengthMax = 128
export const metaValueLengthMax = 512
/** Bytes of a check's output as the catalog keeps it; agents cut theirs to the same. */
export const outputBytesMax = 4_096
export const notesBytesMax = 4_096
export const definitionBytesMax = 8_192
/** Checks that one registration may bring. */
export const registeredChecksMax = 64
export const taggedAddressesMax = 16

const metaKeyPattern = /^[A-Za-z0-9_-]+$/

/** Of a node, a service, a check or a datacenter: parts of keys, so what is longer must never reach an entry. */
export const Name = Type.String({ maxLength: nameLengthMax })
const Address = Type.String({ maxLength: addressLengthMax })
const Meta = Type.Immutable(
  Type.Array(
    Type.Immutable(
      Type.Tuple([
        Type.String({ maxLength: metaKeyLengthMax }),
        Type.String({ maxLength: metaValueLengthMax }),
      ]),
    ),
    { maxItems: metaPairsMax },
  ),
)
const Tags = Type.Immutable(
  Type.Array(Type.String({ maxLength: tagLengthMax }), { maxItems: tagsMax }),
)
const taggedBounds = { maxItems: taggedAddressesMax }

export const CheckStatus = Type.Enum(['passing', 'warning', 'critical'])
export type CheckStatus = Static<typeof CheckStatus>

export type TextPairs = readonly (readonly [string, string])[]

export type Indexes = { readonly createIndex: number; readonly modifyIndex: number }

export const NodeSpec = Type.Object({
  /** As written first; the key is its lower case. */
  name: Name,
  /** A UUID in lower case; null for a node that was registered without one. */
  id: Type.Union([Type.Null(), Name]),
  address: Address,
  datacenter: Name,
  taggedAddresses: Type.Immutable(
    Type.Array(Type.Immutable(Type.Tuple([Name, Address])), taggedBounds),
  ),
  meta: Meta,
})
export type NodeSpec = Readonly<Static<typeof NodeSpec>>

export const ServiceSpec = Type.Object({
  id: Name,
  name: Name,
  tags: Tags,
  address: Address,
  port: Type.Integer(),
  meta: Meta,
  taggedAddresses: Type.Immutable(
    Type.Array(Type.Immutable(Type.Tuple([Name, Address, Type.Integer()])), taggedBounds),
  ),
  weights: record({ passing: Type.Integer(), warning: Type.Integer() }),
  enableTagOverride: Type.Boolean(),
})
export type ServiceSpec = Readonly<Static<typeof ServiceSpec>>

export const CheckOutput = Type.String({ maxLength: outputBytesMax })

export const CheckSpec = Type.Object({
  id: Name,
  name: Name,
  status: CheckStatus,
  notes: Type.String({ maxLength: notesBytesMax }),
  output: CheckOutput,
  /** '': the node's own. */
  serviceId: Name,
  /** Of what kind: `ttl`, `http`, ...; '' when nobody said. */
  type: Name,
  /** A JSON object, as text: kept for readers, and nothing follows from it. */
  definition: Type.String({ maxLength: definitionBytesMax }),
})
export type CheckSpec = Readonly<Static<typeof CheckSpec>>

/** Of the node of an agent. */
export function membershipCheck(status: CheckStatus, output: string): CheckSpec {
  return {
    id: membershipCheckId,
    name: membershipCheckName,
    status,
    notes: '',
    output,
    serviceId: '',
    type: '',
    definition: '{}',
  }
}

export const NodeRow = record({ ...NodeSpec.properties, ...indexes })
export type NodeRow = Readonly<Static<typeof NodeRow>>

export const ServiceRow = record({ ...ServiceSpec.properties, ...indexes, node: Name })
export type ServiceRow = Readonly<Static<typeof ServiceRow>>

export const CheckRow = record({
  ...CheckSpec.properties,
  ...indexes,
  node: Name,
  /** Of the service with `serviceId`, kept in step with it. */
  serviceName: Name,
  serviceTags: Tags,
})
export type CheckRow = Readonly<Static<typeof CheckRow>>

/** The part of a key that stands for a name: names of nodes, services and checks match in any letter case. */
export function keyOfName(name: string): string {
  return name.toWellFormed().toLowerCase()
}

export function isNodeId(text: string): boolean {
  return isUuid(text)
}

/** Throws `invalid_argument` naming `what`; returns the name well-formed. */
export function checkName(what: string, name: string): string {
  if (name === '' || name.length > nameLengthMax || /\p{Cc}/u.test(name)) {
    throw invalid(`${what} must be 1 to ${nameLengthMax} printable characters`)
  }
  return name.toWellFormed()
}

export function checkNode(spec: NodeSpec): NodeSpec {
  if (spec.id !== null && !isNodeId(spec.id)) throw invalid('ID of the node must be a UUID')
  checkAddress('Address', spec.address)
  if (spec.taggedAddresses.length > taggedAddressesMax) {
    throw invalid(`TaggedAddresses may have at most ${taggedAddressesMax} entries`)
  }
  for (const [name, address] of spec.taggedAddresses) {
    checkName('a name in TaggedAddresses', name)
    checkAddress(`TaggedAddresses.${name}`, address)
  }
  return {
    ...spec,
    name: checkName('Node', spec.name),
    id: spec.id?.toLowerCase() ?? null,
    meta: checkMeta('NodeMeta', spec.meta),
  }
}

export function checkService(spec: ServiceSpec): ServiceSpec {
  checkAddress('Address of the service', spec.address)
  if (!Number.isInteger(spec.port) || spec.port < 0 || spec.port > 65_535) {
    throw invalid('Port of the service must be a whole number from 0 to 65535')
  }
  const { passing, warning } = spec.weights
  if (!isWeight(passing) || !isWeight(warning)) {
    throw invalid('Weights must be whole numbers, Passing from 1 and Warning from 0 to 65535')
  }
  if (passing < 1) throw invalid('Weights.Passing must be at least 1')
  if (spec.tags.length > tagsMax || spec.tags.some((tag) => tag.length > tagLengthMax)) {
    throw invalid(`Tags may have at most ${tagsMax} tags of ${tagLengthMax} characters`)
  }
  if (spec.taggedAddresses.length > taggedAddressesMax) {
    throw invalid(`TaggedAddresses may have at most ${taggedAddressesMax} entries`)
  }
  for (const [name, address] of spec.taggedAddresses) {
    checkName('a name in TaggedAddresses', name)
    checkAddress(`TaggedAddresses.${name}`, address)
  }
  return {
    ...spec,
    id: checkName('ID of the service', spec.id),
    name: checkName('Name of the service', spec.name),
    tags: spec.tags.map((tag) => tag.toWellFormed()),
    meta: checkMeta('Meta', spec.meta),
  }
}

/** Throws `invalid_argument` for an address that nobody could reach the service at. */
export function checkReachable(spec: ServiceSpec): ServiceSpec {
  const { address } = spec
  if (isReachable(spec)) return spec
  throw invalid(
    `Address of the service must be one that clients reach it at, not ${address}, which stands for all addresses of a machine: leave it empty for the address of the node`,
  )
}

export function isReachable({ address }: Pick<ServiceSpec, 'address'>): boolean {
  return !/^\[?[0:.]+\]?$/.test(address) || isIP(address.replace(/^\[(.*)\]$/, '$1')) === 0
}

export function checkCheck(spec: CheckSpec): CheckSpec {
  if (Buffer.byteLength(spec.notes) > notesBytesMax) {
    throw invalid(`Notes may have at most ${notesBytesMax} bytes`)
  }
  if (Buffer.byteLength(spec.definition) > definitionBytesMax) {
    throw invalid(`Definition may have at most ${definitionBytesMax} bytes`)
  }
  return {
    ...spec,
    id: checkName('CheckID', spec.id),
    name: checkName('Name of the check', spec.name),
    notes: spec.notes.toWellFormed(),
    output: cutOutput(spec.output),
  }
}

/** The end goes, at a whole character. */
export function cutOutput(output: string): string {
  const text = output.toWellFormed()
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= outputBytesMax) return text
  let end = outputBytesMax
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

export function isMetaKey(key: string): boolean {
  return key.length <= metaKeyLengthMax && metaKeyPattern.test(key)
}

function checkMeta(what: string, meta: TextPairs): TextPairs {
  if (meta.length > metaPairsMax) throw invalid(`${what} may have at most ${metaPairsMax} entries`)
  for (const [key, value] of meta) {
    if (!isMetaKey(key)) {
      throw invalid(
        `a key in ${what} must be 1 to ${metaKeyLengthMax} letters, digits, dashes or underscores`,
      )
    }
    if (value.length > metaValueLengthMax) {
      throw invalid(`a value in ${what} may have at most ${metaValueLengthMax} characters`)
    }
  }
  return sortedPairs(meta.map(([key, value]) => [key, value.toWellFormed()]))
}

/** In the order of their names, so that the same map is the same record. */
export function sortedPairs(pairs: TextPairs): TextPairs {
  return pairs.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
}

function checkAddress(what: string, address: string): void {
  if (address.length > addressLengthMax || /[\p{Cc}\s]/u.test(address)) {
    throw invalid(`${what} must be an address of at most ${addressLengthMax} characters`)
  }
}

function isWeight(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 65_535
}

/** Whether two records say the same, their indexes apart: both are plain data with their members in one order. */
export function sameRecord<Row extends object>(
  before: Row & Partial<Indexes>,
  after: Row,
): boolean {
  const withoutIndexes = (row: object) => ({ ...row, createIndex: 0, modifyIndex: 0 })
  return deepEqual(withoutIndexes(before), withoutIndexes(after))
}

function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
    return false
  }
  const keys = Object.keys(left)
  if (Array.isArray(left) !== Array.isArray(right) || keys.length !== Object.keys(right).length) {
    return false
  }
  return keys.every(
    (key) =>
      Object.hasOwn(right, key) &&
      deepEqual(
        (left as Readonly<Record<string, unknown>>)[key],
        (right as Readonly<Record<string, unknown>>)[key],
      ),
  )
}
