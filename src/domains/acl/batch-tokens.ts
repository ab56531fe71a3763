/**
 * Batch tokens: all that a token is, sealed by the cluster's keyring into its secret. Any server opens it, nothing is stored. It
 * ends with its time, its mount, the token that made it, or the key that sealed it, and in no other way.
 */
import { Check } from 'typebox/schema'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import type { TextSealer } from '../host.ts'
import { hashOf } from './secret-hash.ts'
import { SealedToken } from './batch-model.ts'
import { endOf, type TokenRow, type TokenSpec } from './model.ts'
import { tokenByHash } from './queries.ts'

/** No secret that is drawn has a dot. */
const prefix = 'mb.'

/** What a header holds beside others. Longer ones are neither made nor opened. */
export const batchTokenLengthMax = 8 * 1_024

/** Of a caller, or of a body: whether it has the form of a batch token. */
export function isBatchSecret(secret: string | null): boolean {
  return secret?.startsWith(prefix) === true
}

/** 400: what is asked of a batch token is for others. */
export function noBatch(what: string): MusterError {
  return new MusterError('invalid_argument', `batch tokens ${what}`)
}

export type BatchToken = {
  readonly row: TokenRow
  readonly parentHash: string | null
  readonly keyId: string
}

type MountsThere = { mountStands(reader: Reader, mountId: string): boolean }

/** What stands for its accessor in refusals and audit lines: it has none. */
export function batchName({ hash }: Pick<TokenRow, 'hash'>): string {
  return `batch:${hash.slice(0, 22)}`
}

/** Of the request that makes one. */
export type SealContext = Parameters<TextSealer['seal']>[0]

export type BatchTokensOptions = {
  readonly sealer: () => TextSealer
  readonly mounts: () => MountsThere | null
  readonly wallMs: () => number
}

export class BatchTokens {
  readonly #options: BatchTokensOptions

  constructor(options: BatchTokensOptions) {
    this.#options = options
  }

  /** The caller has decided that it may be made. Throws `unavailable` without a key, `invalid_argument` when it gets too long. */
  async issue(context: SealContext, spec: TokenSpec, parent: Pick<TokenRow, 'hash'> | null) {
    const { parent: _accessorOfParent, ...own } = spec
    const { lease } = own
    const sealed: SealedToken = {
      ...own,
      kind: 'batch',
      ...(lease !== undefined && { lease: { ...lease, renewable: false } }),
      parentHash: parent?.hash ?? null,
    }
    const plain = JSON.stringify(sealed)
    // Its caller would be refused with it from the first use on.
    if (parsed(plain) === null) {
      throw new MusterError('internal', 'the batch token does not match its own schema')
    }
    const text = await this.#options.sealer().seal(context, plain)
    const secret = `${prefix}${text}`
    if (secret.length > batchTokenLengthMax) {
      throw new MusterError(
        'invalid_argument',
        `a batch token has at most ${batchTokenLengthMax} characters: give it less metadata or fewer policies`,
      )
    }
    return { row: rowOf(sealed, secret), secret }
  }

  /** null: it is none of this cluster, or it is worth nothing any more but for its time, which the row has. Never throws. */
  open(reader: Reader, secret: string): BatchToken | null {
    if (!isBatchSecret(secret) || secret.length > batchTokenLengthMax) return null
    const opened = this.#options.sealer().open(reader, secret.slice(prefix.length))
    const sealed = opened === null ? null : parsed(opened.text)
    if (opened === null || sealed === null) return null
    const { parentHash } = sealed
    const token = { row: rowOf(sealed, secret), parentHash, keyId: opened.keyId }
    return this.stands(reader, token) ? token : null
  }

  /** Whether the key, the mount and the parent are still there. */
  stands(reader: Reader, { row, parentHash, keyId }: BatchToken): boolean {
    if (!this.#options.sealer().stands(reader, keyId)) return false
    const { issuer } = row
    if (issuer !== undefined) {
      if (this.#options.mounts()?.mountStands(reader, issuer.mountId) !== true) return false
    }
    if (parentHash === null) return true
    const parent = tokenByHash(reader, parentHash)
    return parent !== null && parent.usesLeft !== 0 && endOf(parent) > this.#options.wallMs()
  }
}

function parsed(text: string): SealedToken | null {
  try {
    const value: unknown = JSON.parse(text)
    return Check(SealedToken, value) ? value : null
  } catch {
    return null
  }
}

function rowOf({ parentHash, ...sealed }: SealedToken, secret: string): TokenRow {
  return {
    ...sealed,
    hash: hashOf(secret),
    accessor: '',
    // Shown as a token that has a parent: which one is nobody's business.
    ...(parentHash !== null && { parent: '' }),
    createIndex: 0,
    modifyIndex: 0,
  }
}
