/** The entry that finds an entity by its aliases, or makes it; and the one that forgets it. */
import { Type } from 'typebox'
import type { Applied, ApplyContext, Change, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove, removeRow } from '../define.ts'
import {
  EntityId,
  entitiesVersion,
  entityName,
  Identity,
  type AliasRow,
  type EntityRow,
} from './model.ts'
import { aliasesOf, entityOf, findEntity, type FoundEntity } from './queries.ts'
import { entities, entityAliases } from './table.ts'

export type IdentifyOutcome = { readonly entityId: string }

/** For commands that do it under conditions of their own. */
export function loadIdentity(reader: Reader, identity: Identity): Promise<FoundEntity> {
  return findEntity(reader, identity)
}

/**
 * All aliases are the entity's from then on. An entity has one alias by a rule of a mount: the last one that was proved, so that one
 * which is given to another person later leads there.
 */
export function applyIdentity(
  { index }: ApplyContext,
  { mountId, aliases, id, nowMs }: Identity,
  { entity, known }: FoundEntity,
): Applied<IdentifyOutcome> {
  const changes: Change[] = []
  const entityId = entity?.id ?? id
  if (entity === null) {
    const row: EntityRow = {
      id,
      name: entityName(id),
      createTimeMs: nowMs,
      createIndex: index,
      modifyIndex: index,
    }
    changes.push(put(entities, row))
  }
  for (const { rule, name } of aliases) {
    const before = known.filter((row) => row.mountId === mountId && row.rule === rule)
    for (const row of before) if (row.name !== name) changes.push(removeRow(entityAliases, row))
    if (before.some((row) => row.name === name)) continue
    const row: AliasRow = {
      mountId,
      rule,
      name,
      entityId,
      createIndex: index,
      modifyIndex: index,
    }
    changes.push(put(entityAliases, row))
  }
  return { changes, outcome: { entityId } }
}

export const identify = defineCommand({
  type: 'entities.identify',
  since: entitiesVersion,
  args: Identity,
  load: loadIdentity,
  apply: applyIdentity,
})

/** Tokens keep its id; the next login makes another entity. */
export const deleteEntity = defineCommand({
  type: 'entities.delete',
  since: entitiesVersion,
  args: Type.Object({ id: EntityId }),
  load: async (reader, { id }) => ({
    entity: entityOf(reader, id),
    known: await aliasesOf(reader, id),
  }),
  apply: (_context, { id }, { entity, known }): Applied<{ readonly existed: boolean }> => ({
    changes: [
      ...(entity === null ? [] : [remove(entities, [id])]),
      ...known.map((row) => removeRow(entityAliases, row)),
    ],
    outcome: { existed: entity !== null },
  }),
})

export const entityCommands = commandsByType([identify, deleteEntity])
