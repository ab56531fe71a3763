/** What the commands about keys share. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, textOf } from '../../api/answer.ts'
import { escapePath } from '../../api/client.ts'
import { isObject, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { misused, unsignedFlag, type FlagTable, type Flags } from '../../flags.ts'

/** A lock that a write depends on. */
export const lockFlags: FlagTable = {
  lock: { summary: 'Only while this key is locked, with -lock-index', value: 'KEY' },
  'lock-index': { summary: 'The LockIndex it must have', value: 'INDEX' },
}

export const casFlag: FlagTable = {
  cas: { summary: 'Only if the key is at this index; 0: only if there is none', value: 'INDEX' },
}

/** Where the API has a key or a prefix. */
export function keyPath(key: string): string {
  if (key === '') misused('the key is empty')
  return `/v1/kv/${escapePath(key)}`
}

/** Query parameters of the flags above; a number as text, with every digit. */
export function conditionsOf(flags: Flags): Readonly<Record<string, string | undefined>> {
  const lock = flags.last('lock')
  const lockIndex = unsignedFlag(flags, 'lock-index')
  if ((lock === undefined) !== (lockIndex === undefined)) {
    misused('-lock and -lock-index belong together')
  }
  return { cas: unsignedFlag(flags, 'cas'), lock, lock_index: lockIndex }
}

/** Throws `conflict` when the API says that a condition did not hold. */
export function assertDone(answer: Json, reason: string): void {
  if (answer !== true) throw new MusterError('conflict', `nothing was changed: ${reason}`)
}

export function bytesOf(entry: JsonObject): Buffer {
  const value = entry['Value']
  return Buffer.from(typeof value === 'string' ? value : '', 'base64')
}

/** The holder of its lock; empty when it is free. */
export function holderOf(entry: JsonObject): string {
  return isObject(entry) && 'Session' in entry ? textOf(entry, 'Session') : ''
}

export function lockText(entry: JsonObject): string {
  const holder = holderOf(entry)
  const index = integerOf(entry, 'LockIndex')
  if (holder !== '') return `held by ${holder}, LockIndex ${index}`
  return index === '0' ? 'never held' : `free, LockIndex ${index}`
}
