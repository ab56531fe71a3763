/** How servers introduce themselves to each other, and the reading of it. */
import { firstCommandVersion } from '../fsm/cluster-version.ts'

export type Self = { readonly id: string; readonly name: string; readonly address: string }

/** What comes with a wish to join. */
export type Joiner = Self & {
  readonly region: string
  /** '' before it knows its cluster. */
  readonly clusterId: string
  /** The newest command version that its program knows. */
  readonly commandVersion: number
}

export type Identity = Joiner & {
  /** Ids of the clusters that its cluster was recovered from. */
  readonly predecessors: readonly string[]
  readonly holdsData: boolean
  /** Where its gossip is reached; null: it has none. */
  readonly gossip: string | null
  /** It is about to leave the cluster for good. */
  readonly leaving: boolean
}

const textLengthMax = 128
const idLengthMax = 64
const predecessorsMax = 64
const addressPattern = /^[^\s]{1,255}:\d{1,5}$/

/** Null when it is not a server's id, name and address. */
export function parseSelf(value: unknown): Self | null {
  if (typeof value !== 'object' || value === null) return null
  if (!('id' in value) || !('name' in value) || !('address' in value)) return null
  const { id, name, address } = value
  if (typeof id !== 'string' || typeof name !== 'string' || typeof address !== 'string') return null
  if (id === '' || name === '' || id.length > idLengthMax || name.length > textLengthMax)
    return null
  return addressPattern.test(address) ? { id, name, address } : null
}

/** Of arguments that name a server by its id; null: they do not. */
export function parseServerId(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null
  const { id } = value
  return typeof id === 'string' && id !== '' && id.length <= idLengthMax ? id : null
}

export function parseIdentity(value: unknown): Identity | null {
  const joiner = parseJoiner(value)
  if (joiner === null || typeof value !== 'object' || value === null) return null
  if (!('holdsData' in value) || typeof value.holdsData !== 'boolean') return null
  const gossip = 'gossip' in value ? value.gossip : null
  const isAddress = typeof gossip === 'string' && addressPattern.test(gossip)
  const predecessors = 'predecessors' in value ? parsePredecessors(value.predecessors) : []
  const { holdsData } = value
  const leaving = 'leaving' in value && value.leaving === true
  return { ...joiner, predecessors, holdsData, gossip: isAddress ? gossip : null, leaving }
}

function parsePredecessors(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > predecessorsMax) return []
  return value.filter((id) => typeof id === 'string' && id.length <= textLengthMax)
}

export function parseJoiner(value: unknown): Joiner | null {
  const self = parseSelf(value)
  if (self === null || typeof value !== 'object' || value === null) return null
  if (!('clusterId' in value) || !('region' in value)) return null
  const { clusterId, region } = value
  if (typeof clusterId !== 'string' || clusterId.length > textLengthMax) return null
  if (typeof region !== 'string' || region.length > textLengthMax) return null
  const commandVersion = 'commandVersion' in value ? value.commandVersion : firstCommandVersion
  if (typeof commandVersion !== 'number' || !Number.isSafeInteger(commandVersion)) return null
  if (commandVersion < firstCommandVersion) return null
  return { ...self, clusterId, region, commandVersion }
}
