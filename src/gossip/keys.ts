/**
 * The keys of the gossip, here and everywhere: what is asked of this member's keyring, and the query that asks it of
 * all members, which serf agents understand too. A key occurs in no error and no log line.
 */
import { assertNever } from '../lib/assert.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Question } from './core/queries.ts'
import type { KeyOperation, KeyReport } from './gossip.ts'
import {
  decodeKeyRequest,
  decodeKeyResponse,
  encodeKeyRequest,
  encodeKeyResponse,
  internalQuery,
  type KeyResponse,
} from './wire/internal-queries.ts'
import { Keyring } from './wire/keyring.ts'

/** Names on the wire. */
const queryNames = {
  install: internalQuery.installKey,
  use: internalQuery.useKey,
  remove: internalQuery.removeKey,
  list: internalQuery.listKeys,
} as const satisfies Record<KeyOperation['type'], string>

/** Null for none. Throws invalid_argument for text that is no key. */
export function keyringOf(keys: readonly string[]): Keyring | null {
  const [primary, ...others] = keys.map(keyBytes)
  return primary === undefined ? null : new Keyring(primary, others)
}

/** The keyring of this member, and the store that keeps it for the next start. */
export class OwnKeys {
  readonly #keyring: Keyring | null
  readonly #onChanged: (keys: readonly string[]) => void

  constructor(keyring: Keyring | null, onChanged: (keys: readonly string[]) => void) {
    this.#keyring = keyring
    this.#onChanged = onChanged
  }

  /** Returns the keys afterwards. Throws what the keyring refuses with, and what the keeper throws. */
  apply(operation: KeyOperation): readonly string[] {
    const keyring = this.required()
    const before = listed(keyring)
    switch (operation.type) {
      case 'install':
        keyring.install(keyBytes(operation.key))
        break
      case 'use':
        keyring.use(keyBytes(operation.key))
        break
      case 'remove':
        keyring.remove(keyBytes(operation.key))
        break
      case 'list':
        break
      default:
        assertNever(operation)
    }
    const after = listed(keyring)
    if (before.join() !== after.join()) this.#onChanged(after)
    return after
  }

  /** Throws invalid_argument without encryption. */
  required(): Keyring {
    if (this.#keyring !== null) return this.#keyring
    throw new MusterError(
      'invalid_argument',
      'gossip is not encrypted here, so there are no keys; start all members with a key first',
    )
  }

  /** The payload that answers a query; null for one that is not about keys. */
  answer(queryName: string, payload: Uint8Array): Uint8Array | null {
    const type = operationOf(queryName)
    if (type === null) return null
    const refused: KeyResponse = { ok: false, message: '', keys: [], primaryKey: '' }
    try {
      const key = decodeKeyRequest(payload)
      if (key === null && type !== 'list') {
        return encodeKeyResponse({ ...refused, message: 'the request cannot be read' })
      }
      const text = Buffer.from(key ?? []).toString('base64')
      const keys = this.apply(type === 'list' ? { type } : { type, key: text })
      const [primaryKey = ''] = keys
      return encodeKeyResponse(
        type === 'list'
          ? { ok: true, message: '', keys, primaryKey }
          : { ...refused, ok: true, message: '' },
      )
    } catch (error) {
      return encodeKeyResponse({ ...refused, message: textOf(error) })
    }
  }
}

/** The question to put to all members. Throws invalid_argument for text that is no key. */
export function keyQuestion(operation: KeyOperation, timeoutMs: number): Question {
  const key = operation.type === 'list' ? new Uint8Array() : keyBytes(operation.key)
  return {
    name: queryNames[operation.type],
    payload: encodeKeyRequest(key),
    filters: [],
    wantsAck: false,
    timeoutMs,
  }
}

/** Collects the answers of one question. */
export class KeyAnswers {
  readonly #expected: ReadonlySet<string>
  readonly #answered = new Set<string>()
  readonly #errors = new Map<string, string>()
  readonly #keys = new Map<string, number>()
  readonly #primaryKeys = new Map<string, number>()

  constructor(expected: ReadonlySet<string>) {
    this.#expected = expected
  }

  /** True: no member is waited for any longer. */
  add(from: string, payload: Uint8Array): boolean {
    this.#answered.add(from)
    const response = decodeKeyResponse(payload)
    if (response === null) this.#errors.set(from, 'the answer cannot be read')
    else if (!response.ok) this.#errors.set(from, response.message)
    else {
      for (const key of response.keys) count(this.#keys, key)
      if (response.primaryKey !== '') count(this.#primaryKeys, response.primaryKey)
    }
    return [...this.#expected].every((name) => this.#answered.has(name))
  }

  report(): KeyReport {
    const errors = new Map(this.#errors)
    for (const name of this.#expected) {
      if (!this.#answered.has(name)) errors.set(name, 'it did not answer in time')
    }
    return {
      members: this.#expected.size,
      answered: this.#answered.size,
      errors,
      keys: this.#keys,
      primaryKeys: this.#primaryKeys,
    }
  }
}

function keyBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') === text) return bytes
  throw new MusterError(
    'invalid_argument',
    'a gossip key is not in base64; write 16, 24 or 32 random bytes in base64',
  )
}

function listed(keyring: Keyring): readonly string[] {
  return keyring.list().map((key) => Buffer.from(key).toString('base64'))
}

function operationOf(queryName: string): KeyOperation['type'] | null {
  for (const type of ['install', 'use', 'remove', 'list'] as const) {
    if (queryNames[type] === queryName) return type
  }
  return null
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
