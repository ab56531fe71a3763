/** Rows of variables, of their sealed items, and of the keys that seal them. */
import type { Reader, Table } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import { firstOf } from '../define.ts'
import { KeyRow } from './keyring-model.ts'
import { SealedRow, secretsNamespace, VariableRow } from './model.ts'

/** What lists read, and what their index counts. */
export const variables: Table<VariableRow> = {
  name: 'variables',
  row: VariableRow,
  key: (row) => [row.namespace, row.path],
}

export const sealedItems: Table<SealedRow> = {
  name: 'variable_items',
  row: SealedRow,
  key: (row) => [row.namespace, row.path],
  indexes: {
    /** Finds what an old key still seals without reading what it does not. */
    key: (row) => [row.keyId],
    /** Of secrets alone: by what ends them. */
    owner: ({ namespace, path }) =>
      namespace === secretsNamespace ? [path.slice(0, path.indexOf('/'))] : null,
  },
}

export const keyring: Table<KeyRow> = {
  name: 'keyring',
  row: KeyRow,
  key: (row) => [row.id],
}

/** Rows of the keyring, in the order of their ids. There are few: old keys go once nothing uses them. */
export function keysOf(reader: Reader): Promise<readonly KeyRow[]> {
  return allOf(reader.pages(keyring))
}

export async function isKeyInUse(reader: Reader, keyId: string): Promise<boolean> {
  return (await firstOf(reader.pagesBy(sealedItems, 'key', { prefix: [keyId] }))) !== null
}

export async function hasVariables(reader: Reader, namespace: string): Promise<boolean> {
  return (await firstOf(reader.pages(variables, { prefix: [namespace] }))) !== null
}
