/** Rows of entities and of what they are called. */
import type { Table } from '../../fsm/domain.ts'
import { AliasRow, EntityRow } from './model.ts'

export const entities: Table<EntityRow> = {
  name: 'entities',
  row: EntityRow,
  key: ({ id }) => [id],
}

export const entityAliases: Table<AliasRow> = {
  name: 'entity_aliases',
  row: AliasRow,
  key: ({ mountId, rule, name }) => [mountId, rule, name],
  indexes: {
    byEntity: ({ entityId, mountId, rule, name }) => [entityId, mountId, rule, name],
    byMount: ({ mountId, rule, name }) => [mountId, rule, name],
  },
}
