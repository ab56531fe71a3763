/**
 * An operator's restore, as log entries: `begin`, chunks of rows in key order, `commit`. Rows arrive in a generation of
 * their own that is not read yet; the commit is one small batch that makes it the current one on every server at the same index.
 *
 * An archive holds the rows of the tables, not their index entries (those are built anew), and nothing of the cluster: neither
 * configuration nor applied index. A refusal is an outcome; the state then is as before.
 */
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'
import { textOf } from '../lib/errors.ts'
import type { Batch, StagedRow } from './batch.ts'
import { bytesSchema, commandBytesMax, pack, rowBytesMax, unpack } from './codec.ts'
import { counterFloorVersion, floorOfRestore } from './counter-floor.ts'
import { compareEncoded, encodeKey, encodeNumber, generationPrefix, kind } from './keys.ts'
import type { Staging } from './meta.ts'
import { indexEntryKey, keyOfRow } from './table.ts'
import type { Tables } from './table.ts'

export type RestoreOutcome =
  | { readonly ok: true; readonly rows: number }
  | { readonly ok: false; readonly reason: string }

/** A command of the machine itself: it may do what no domain may. */
export type StateCommand<Outcome> = {
  readonly args: TSchema
  readonly since?: number
  readonly run: (target: RestoreTarget, args: never) => Outcome
}

export type RestoreTarget = {
  readonly batch: Batch
  readonly tables: Tables
  readonly index: number
}

/** Rows of one block: of an archive, and of one `state.restoreChunk`. */
export type ArchivedRow = { readonly key: string; readonly value: Uint8Array }

/** What the chain of digests starts with. */
export const noRowsDigest = ''

/** A chain over the blocks in their order; the digest after the last one stands for the whole archive. */
export function restoreDigest(before: string, block: Uint8Array): string {
  return createHash('sha256').update(before).update(block).digest('hex')
}

export function encodeBlock(rows: readonly ArchivedRow[]): Buffer {
  return pack(rows.flatMap(({ key, value }) => [key, value]))
}

/** Rows of a block, or what is wrong with it. */
export function decodeBlock(block: Uint8Array): readonly ArchivedRow[] | string {
  let flat: unknown
  try {
    flat = unpack(block)
  } catch (error) {
    return `a block is not msgpack: ${textOf(error)}`
  }
  if (!Array.isArray(flat) || flat.length % 2 !== 0) return 'a block is not pairs of key and row'
  const rows: ArchivedRow[] = []
  for (let position = 0; position < flat.length; position += 2) {
    const key: unknown = flat[position]
    const value: unknown = flat[position + 1]
    if (typeof key !== 'string' || !(value instanceof Uint8Array)) {
      return `pair ${position / 2} of a block is not a key and a row`
    }
    if (value.byteLength > rowBytesMax)
      return `pair ${position / 2} of a block is over ${rowBytesMax} bytes`
    rows.push({ key, value })
  }
  return rows
}

const Id = Type.String({ minLength: 1, maxLength: 128 })
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const Begin = Type.Object({ id: Id })
const Chunk = Type.Object({ id: Id, number: Count, rows: bytesSchema(commandBytesMax) })
const Commit = Type.Object({ id: Id, rows: Count, digest: Type.String({ maxLength: 64 }) })
const Abort = Type.Object({ id: Id })

export const restoreCommands: Readonly<Record<string, StateCommand<RestoreOutcome>>> = {
  /** Voids whatever restore was under way. */
  'state.restoreBegin': {
    args: Begin,
    run({ batch }, { id }: Static<typeof Begin>) {
      const { current, newest } = batch.generations
      const generation = newest + 1
      batch.setGenerations({
        current,
        newest: generation,
        staging: {
          id,
          generation,
          nextChunk: 0,
          rows: 0,
          digest: noRowsDigest,
          lastKey: '',
          ...(batch.commandVersion >= counterFloorVersion && { highest: 0 }),
        },
      })
      return { ok: true, rows: 0 }
    },
  },

  /** `rows`: one block, number `number` of the restore, counted from 0. */
  'state.restoreChunk': {
    args: Chunk,
    run({ batch, tables }, { id, number, rows: block }: Static<typeof Chunk>) {
      const staging = stagingOf(batch, id)
      if (typeof staging === 'string') return refuse(staging)
      if (number !== staging.nextChunk) {
        return refuse(`chunk ${number} came where chunk ${staging.nextChunk} should: begin again`)
      }
      const rows = decodeBlock(block)
      if (typeof rows === 'string') return refuse(rows)
      const parsed = parseRows(tables, rows, staging.lastKey)
      if (typeof parsed === 'string') return refuse(parsed)
      const front = generationPrefix(staging.generation)
      let { highest } = staging
      for (const row of parsed) {
        batch.stageRow(front, row)
        if (highest !== undefined) highest = Math.max(highest, row.counter)
      }
      const total = staging.rows + rows.length
      batch.setGenerations({
        ...batch.generations,
        staging: {
          ...staging,
          nextChunk: number + 1,
          rows: total,
          digest: restoreDigest(staging.digest, block),
          lastKey: rows.at(-1)?.key ?? staging.lastKey,
          ...(highest !== undefined && { highest }),
        },
      })
      return { ok: true, rows: total }
    },
  },

  /** `rows` and `digest` are of the whole archive. From here on its rows are the state, all changed at this index. */
  'state.restoreCommit': {
    args: Commit,
    run({ batch, index }, { id, rows, digest }: Static<typeof Commit>) {
      const staging = stagingOf(batch, id)
      if (typeof staging === 'string') return refuse(staging)
      if (rows !== staging.rows || digest !== staging.digest) {
        return refuse(
          `the archive has ${rows} rows with digest ${digest}, but ${staging.rows} with ${staging.digest} arrived`,
        )
      }
      if (batch.commandVersion >= counterFloorVersion) {
        const { highest } = staging
        if (highest === undefined) {
          return refuse('it began before the last server was upgraded: send the archive again')
        }
        batch.setCounterFloor(floorOfRestore(batch.counterFloor, highest, index))
      }
      const { newest } = batch.generations
      batch.setGenerations({ current: staging.generation, newest, staging: null })
      batch.rows.set(
        generationPrefix(staging.generation) + kind.floor,
        Buffer.from(encodeNumber(index)),
      )
      return { ok: true, rows }
    },
  },

  'state.restoreAbort': {
    args: Abort,
    run({ batch }, { id }: Static<typeof Abort>) {
      const staging = stagingOf(batch, id)
      if (typeof staging === 'string') return refuse(staging)
      batch.setGenerations({ ...batch.generations, staging: null })
      return { ok: true, rows: staging.rows }
    },
  },
}

function refuse(reason: string): RestoreOutcome {
  return { ok: false, reason }
}

function stagingOf(batch: Batch, id: string): Staging | string {
  const { staging } = batch.generations
  if (staging === null) return `no restore is under way: begin ${id} first`
  return staging.id === id ? staging : `restore ${id} was voided by ${staging.id}`
}

/**
 * Keys must rise and agree with their rows, so that a damaged archive cannot leave rows that cannot be found. Rows must be such
 * as their table's commands write: what those cannot read would stop every server, long after the restore.
 */
function parseRows(
  tables: Tables,
  rows: readonly ArchivedRow[],
  lastKey: string,
): readonly StagedRow[] | string {
  const parsed: StagedRow[] = []
  let last = lastKey
  for (const { key, value } of rows) {
    if (compareEncoded(key, last) <= 0)
      return 'the rows of the archive are not in the order of their keys'
    last = key
    const bound = tables.ofRowKey(key)
    if (bound === undefined) {
      return 'the archive holds a table that this program does not know: restore it with a newer one'
    }
    const primary = key.slice(bound.rowPrefix.length)
    try {
      const row = unpack(value)
      const fault = bound.faultOf(row)
      if (fault !== null) {
        return `a row of table ${bound.name} in the archive is not such as this program writes there: ${fault}`
      }
      if (encodeKey(keyOfRow(bound, row)) !== primary) {
        return `a row of table ${bound.name} in the archive lies under another row's key`
      }
      const entries = bound.indexes.flatMap((index) => indexEntryKey(index, row, primary) ?? [])
      const counter = bound.table.counter?.(row as never) ?? 0
      parsed.push({ key, primary, entries, value, counter })
    } catch (error) {
      return `a row of table ${bound.name} in the archive cannot be read: ${textOf(error)}`
    }
  }
  return parsed
}
