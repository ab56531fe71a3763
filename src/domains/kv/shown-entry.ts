/** A key as clients read it, in answers of both kinds of route. */
import { defaultNamespace, flagsNumber } from './model.ts'
import type { ShownEntry } from './operation-model.ts'

/** A value that is empty or not asked for is null. */
export function shownEntry({ row, value }: ShownEntry) {
  return {
    LockIndex: row.lockIndex,
    Key: row.key,
    Flags: flagsNumber(row.flags),
    Value: value === null || value.byteLength === 0 ? null : base64(value),
    ...(row.session === null ? {} : { Session: row.session }),
    ...(row.namespace === defaultNamespace ? {} : { Namespace: row.namespace }),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

function base64(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
}
