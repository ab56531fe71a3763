/** Which entity the aliases of a login are. */
import type { Reader } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import type { Alias, AliasRow, EntityRow, Identity } from './model.ts'
import { entities, entityAliases } from './table.ts'

export function entityOf(reader: Pick<Reader, 'get'>, id: string): EntityRow | null {
  return reader.get(entities, [id]) ?? null
}

export function aliasesOf(
  reader: Pick<Reader, 'pagesBy'>,
  entityId: string,
): Promise<readonly AliasRow[]> {
  return allOf(reader.pagesBy(entityAliases, 'byEntity', { prefix: [entityId] }))
}

/** The entity when all aliases are known to be its; else an entry has to say which it is: null. */
export function knownEntity(
  reader: Pick<Reader, 'get'>,
  mountId: string,
  aliases: readonly Alias[],
): string | null {
  const ids = new Set(aliases.map((alias) => rowOf(reader, mountId, alias)?.entityId))
  const [id] = ids
  return ids.size === 1 && id !== undefined && entityOf(reader, id) !== null ? id : null
}

export type FoundEntity = {
  /** null: nothing that was proved is anyone's yet. */
  readonly entity: EntityRow | null
  /** All that it is called. */
  readonly known: readonly AliasRow[]
}

/**
 * By the alias of the present settings, else by another one that was proved: then only if the entity has no alias by the rule of
 * the present settings. With one it is another person, who was called so before: a name that is given again, or a moved entry.
 */
export async function findEntity(
  reader: Reader,
  { mountId, aliases }: Pick<Identity, 'mountId' | 'aliases'>,
): Promise<FoundEntity> {
  const [present] = aliases
  for (const alias of aliases) {
    const row = rowOf(reader, mountId, alias)
    const entity = row === null ? null : entityOf(reader, row.entityId)
    if (entity === null) continue
    const known = await aliasesOf(reader, entity.id)
    const isOther = known.some(
      (other) =>
        other.mountId === mountId && other.rule === present?.rule && other.name !== present.name,
    )
    if (alias === present || !isOther) return { entity, known }
  }
  return { entity: null, known: [] }
}

function rowOf(
  reader: Pick<Reader, 'get'>,
  mountId: string,
  { rule, name }: Alias,
): AliasRow | null {
  return reader.get(entityAliases, [mountId, rule, name]) ?? null
}
