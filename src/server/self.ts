/** How servers introduce themselves to each other. Fields that older programs do not send are optional. */
import { Type, type Static } from 'typebox'
import { firstCommandVersion } from '../fsm/cluster-version.ts'

const ServerId = Type.String({ minLength: 1, maxLength: 64 })
const Name = Type.String({ minLength: 1, maxLength: 128 })
const Address = Type.String({ pattern: '^[^\\s]{1,255}:\\d{1,5}$' })
const CommandVersion = Type.Integer({ minimum: firstCommandVersion, maximum: 1_000_000 })

export const Self = Type.Object({ id: ServerId, name: Name, address: Address })
export type Self = Readonly<Static<typeof Self>>

/** Names a server. */
export const WhichServer = Type.Object({ id: ServerId })

/** What comes with a wish to join. */
export const Joiner = Type.Object({
  ...Self.properties,
  region: Type.String({ maxLength: 128 }),
  /** '' before it knows its cluster. */
  clusterId: Type.String({ maxLength: 128 }),
  /** The newest command version that its program knows; absent: the first. */
  commandVersion: Type.Optional(CommandVersion),
})
export type Joiner = Readonly<Static<typeof Joiner>>

export const Identity = Type.Object({
  ...Joiner.properties,
  /** Ids of the clusters that its cluster was recovered from. */
  predecessors: Type.Optional(Type.Immutable(Type.Array(Type.String({ maxLength: 128 })))),
  holdsData: Type.Boolean(),
  /** Where its gossip is reached; null: it has none. */
  gossip: Type.Optional(Type.Union([Address, Type.Null()])),
  /** It is about to leave the cluster for good. */
  leaving: Type.Optional(Type.Boolean()),
})
export type Identity = Readonly<Static<typeof Identity>>

export function versionOf({ commandVersion = firstCommandVersion }: Joiner): number {
  return commandVersion
}
