/**
 * Who logs in: an entity is one person or workload, however often it logs in and whatever the settings of its login method are.
 * An alias is what a login method calls it, with the rule by which it is called so.
 */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'

/** The command version of the first programs that know entities. */
export const entitiesVersion = 7

export const idLengthMax = 64
export const ruleLengthMax = 160
export const aliasNameLengthMax = 1_024
/** Of one login. */
const aliasesMax = 4

/** Stands where others have the id of their login method: aliases that an operator gives with a token. */
export const tokenAliases = 'token'

export const EntityId = Type.String({ minLength: 1, maxLength: idLengthMax })

export const EntityRow = record({
  id: EntityId,
  name: Type.String({ maxLength: idLengthMax }),
  createTimeMs: TimeMs,
  ...indexes,
})
export type EntityRow = Readonly<Static<typeof EntityRow>>

export const Alias = record({
  /** By what it is called so: `username`, `dn`, `upn`, `attribute:uid`, `serviceaccount_uid`. */
  rule: Type.String({ minLength: 1, maxLength: ruleLengthMax }),
  /** As that rule compares names. */
  name: Type.String({ minLength: 1, maxLength: aliasNameLengthMax }),
})
export type Alias = Readonly<Static<typeof Alias>>

export const AliasRow = record({
  /** Of the mount of the login method, or `tokenAliases`. */
  mountId: EntityId,
  ...Alias.properties,
  entityId: EntityId,
  ...indexes,
})
export type AliasRow = Readonly<Static<typeof AliasRow>>

/** All that one proof says of who logs in; the first alias is the one by the settings as they are now. */
export const Aliases = Type.Immutable(Type.Array(Alias, { minItems: 1, maxItems: aliasesMax }))

/** What an entry takes that finds an entity or makes it. `id`, `nowMs`: drawn, for a new one. */
export const Identity = Type.Object({
  mountId: EntityId,
  aliases: Aliases,
  id: EntityId,
  nowMs: TimeMs,
})
export type Identity = Readonly<Static<typeof Identity>>

export function entityName(id: string): string {
  return `entity_${id.slice(0, 8)}`
}
