/**
 * Hostile archives: bytes of a real one broken at random, and archives with right checksums whose rows are wrong. What is
 * refused is refused with 400 and changes nothing; after what is accepted the server still answers. FUZZ_ARCHIVES says how
 * many of each, FUZZ_SEED repeats a run.
 */
import t from 'tap'
import { unpack, pack } from '../../../src/fsm/codec.ts'
import { encodeKey } from '../../../src/fsm/keys.ts'
import {
  decodeBlock,
  encodeBlock,
  noRowsDigest,
  restoreDigest,
  type ArchivedRow,
} from '../../../src/fsm/restore.ts'
import { keyOfRow } from '../../../src/fsm/table.ts'
import { writeArchive } from '../../../src/domains/operator/archive.ts'
import { amount, seed } from '../../support/randomness.ts'
import { bytes as randomBytes, integer, pick } from '../../support/fuzz.ts'
import { everyTableOptions, fillEveryTable, meetEveryTable } from '../every-table.ts'
import { sweepRows, tables } from '../row-faults.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

const archivesOfEach = amount('FUZZ_ARCHIVES', { gate: 25, long: 60 })

const snapshotUrl = '/v1/operator/snapshot'

/** Sealed bytes that do not open are an error of the archive, and of the variable or the login method alone that they belong to. */
const sealing = /\/v1\/var\/|\/v1\/auth\//
const wrongSeals = /do not open|does not open|are not what was written|newer version|has no key/
/** Rows may say that the sessions of a node ended, and so do those that are made there. To lock by one is 500, as at Consul. */
const acquiring = /[?]acquire=/
const endedSession = /^invalid session /

function noise(lengthMax: number): Buffer {
  return randomBytes(integer(1, lengthMax))
}

function broken(bytes: Buffer): Buffer {
  const at = integer(0, bytes.length)
  const length = integer(1, 1 + Math.min(200, bytes.length - at))
  const [before, piece, after] = [
    bytes.subarray(0, at),
    bytes.subarray(at, at + length),
    bytes.subarray(at + length),
  ]
  switch (integer(0, 7)) {
    case 0: {
      const copy = Buffer.from(bytes)
      copy[at] = (copy[at] ?? 0) ^ (1 << integer(0, 8))
      return copy
    }
    case 1:
      return before
    case 2:
      return Buffer.concat([before, after])
    case 3:
      return Buffer.concat([before, noise(20), piece, after])
    case 4:
      return Buffer.concat([before, piece, piece, after])
    case 5:
      return Buffer.concat([before, noise(length), after])
    default:
      return Buffer.concat([before, after, piece])
  }
}

/** Rows as the state holds them now. */
async function rowsOf(server: ServerOfOne): Promise<ArchivedRow[]> {
  const source = server.machine.exportRows()
  const rows: ArchivedRow[] = []
  try {
    for await (const block of source.blocks()) rows.push(...rowsOfBlock(block))
  } finally {
    source.close()
  }
  return rows
}

function rowsOfBlock(block: Uint8Array): readonly ArchivedRow[] {
  const rows = decodeBlock(block)
  if (typeof rows === 'string') throw new Error(rows)
  return rows
}

async function archiveOf(blocks: readonly Uint8Array[], rows: number): Promise<Buffer> {
  const header = { index: 9, term: 1, createdMs: 0, commandVersion: 1, clusterKeys: [] }
  const digest = blocks.reduce(restoreDigest, noRowsDigest)
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* blocks
  }
  const parts: Uint8Array[] = []
  for await (const bytes of writeArchive(header, source(), () => ({ rows, digest }))) {
    parts.push(bytes)
  }
  return Buffer.concat(parts)
}

const text36 = '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'

/** Such as a schema that is too wide would let through to code that relies on another. */
const strangers: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 52,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 60,
  1e300,
  NaN,
  Infinity,
  -0,
  2n ** 80n,
  '',
  '0',
  '-1',
  'x',
  '\0',
  '*',
  'default',
  'box',
  '__proto__',
  'constructor',
  text36,
  '9'.repeat(20),
  '\u0130'.repeat(256),
  '\ud800',
  'x'.repeat(5_000),
  'x'.repeat(300_000),
  [],
  [[]],
  ['a', 'b'],
  [['a', 'b']],
  Array.from({ length: 500 }, () => 'x'),
  {},
  { length: 1 },
  { id: 'x' },
  Buffer.alloc(0),
  Buffer.from('bytes'),
  Buffer.alloc(600),
  new Date(0),
  new Map([['a', 1]]),
  new Set(['a']),
]

type Row = Record<string, unknown>

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
}

/** Another value for some member, of this record or of one inside of it. */
function changeMember(row: Row): void {
  const name = pick(Object.keys(row))
  const value = row[name]
  if (isRow(value) && Object.keys(value).length > 0 && integer(0, 3) > 0) changeMember(value)
  else row[name] = integer(0, 4) > 0 ? near(value) : pick(strangers)
}

/** Of the same type: what checks, and may still not fit what other rows say. */
function near(value: unknown): unknown {
  if (typeof value === 'number') return pick([0, 1, value + 1, 2 ** 40, 2 ** 52, 2 ** 53 - 1])
  if (typeof value === 'string')
    return pick([`${value}x`, '', '\0', 'x', '7', '[null]', value.toUpperCase()])
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return pick([[], [...value, ...value], value.slice(1)])
  if (Buffer.isBuffer(value)) return pick([Buffer.alloc(0), noise(200), value.subarray(1)])
  return pick(strangers)
}

function mutatedRow(row: Row): unknown {
  const name = pick(Object.keys(row))
  switch (integer(0, 12)) {
    case 0:
      delete row[name]
      return row
    case 1: {
      const other = pick(['more', '__proto__', 'constructor', 'toString', '\0', name.toUpperCase()])
      Object.defineProperty(row, other, { value: pick(strangers), enumerable: true })
      return row
    }
    case 2:
      return pick([pick(strangers), Object.values(row), { ...row, [name]: row }])
    default:
      changeMember(row)
      return row
  }
}

/** Msgpack that `pack` never writes. */
function strangeBytes(bytes: Uint8Array): Uint8Array {
  switch (integer(0, 4)) {
    case 0:
      return broken(Buffer.from(bytes))
    case 1:
      // Deeper than any stack.
      return Buffer.concat([Buffer.alloc(200_000, 0x91), bytes])
    case 2:
      // The first of so many entries that there is no room for them.
      return Buffer.concat([Buffer.of(pick([0xdd, 0xdf]), 0x7f, 0xff, 0xff, 0xff), bytes])
    default:
      return Buffer.concat([bytes, noise(20)])
  }
}

/** `key` as the row itself says it, so that the row alone decides; the old one where it says none. */
function keyedAnew(key: string, row: unknown): string {
  const bound = tables.ofRowKey(key)
  if (bound === undefined) return key
  try {
    return bound.rowPrefix + encodeKey(keyOfRow(bound, row))
  } catch {
    return key
  }
}

function mutatedRows(rows: ArchivedRow[]): void {
  const at = integer(0, rows.length)
  const chosen = rows[at]
  if (chosen === undefined) throw new Error('there are no rows')
  const { key, value } = chosen
  switch (integer(0, 20)) {
    case 0:
      rows.splice(at, 1)
      return
    case 1:
      rows.splice(at, 0, { key: key.replace('\x01', pick(['\x02', '\x03', '\x04', ''])), value })
      return
    case 2:
      rows.push({ key: `\x01${encodeKey(['unknown', 'x'])}`, value })
      return
    case 3:
      rows[at] = { key: key + pick(['', '\0', 'x', '\x00\x01']), value: pick(rows).value }
      return
    case 4:
      rows[at] = { key, value: strangeBytes(value) }
      return
    default: {
      const before = unpackable(value)
      if (!isRow(before) || Object.keys(before).length === 0) return
      const row = mutatedRow(before)
      const packed = packable(row) ?? value
      rows[at] = { key: integer(0, 8) === 0 ? key : keyedAnew(key, unpack(packed)), value: packed }
    }
  }
}

/** Null for what an earlier change broke. */
function unpackable(value: Uint8Array): unknown {
  try {
    return unpack(value)
  } catch {
    return null
  }
}

/** Null for what msgpack has no form of. */
function packable(row: unknown): Buffer | null {
  try {
    return pack(row)
  } catch {
    return null
  }
}

function inKeyOrder(rows: readonly ArchivedRow[]): ArchivedRow[] {
  const encoded = (row: ArchivedRow) => Buffer.from(row.key)
  return rows.toSorted((left, right) => Buffer.compare(encoded(left), encoded(right)))
}

async function filledServer(test: Parameters<typeof serverOfOne>[0]): Promise<ServerOfOne> {
  const server = await serverOfOne(test, everyTableOptions)
  await fillEveryTable(server)
  return server
}

void t.test('a row that would stop every server later is refused, with its table', async (t) => {
  const server = await filledServer(t)
  const rows = await rowsOf(server)
  const wrong: readonly (readonly [table: string, member: string, value: unknown])[] = [
    // The time until which its keys are held back would be no number, at its end.
    ['sessions', 'lockDelayNs', 'soon'],
    ['sessions', 'boundChecks', null],
    ['kv_tombstones', 'timeMs', -1],
    ['acl_tokens', 'expirationTimeMs', 0.5],
    ['catalogNodes', 'id', 'x'.repeat(20_000)],
    ['keyring', 'state', 'lost'],
  ]
  for (const [table, member, value] of wrong) {
    const changed = rows.map((row) => {
      if (tables.ofRowKey(row.key)?.name !== table) return row
      return { ...row, value: pack({ ...(unpack(row.value) as Row), [member]: value }) }
    })
    const archive = await archiveOf([encodeBlock(changed)], changed.length)
    const answer = await server.ask('PUT', snapshotUrl, archive)
    t.equal(answer.status, 400, `${table}.${member}`)
    t.match(answer.body, `a row of table ${table} in the archive is not such as this program`)
  }
  t.ok(encodeBlock(await rowsOf(server)).equals(encodeBlock(rows)), 'nothing changed')
})

void t.test(`archives of broken bytes, FUZZ_SEED=${seed}`, async (t) => {
  const server = await filledServer(t)
  const { bytes } = await server.ask('GET', snapshotUrl)
  const archived = await rowsOf(server)
  await server.ask('PUT', '/v1/kv/later', 'v')
  const before = await rowsOf(server)
  const trailerStart = bytes.lastIndexOf('{"rows"')
  for (let number = 0; number < archivesOfEach; number += 1) {
    const archive = broken(bytes)
    if (archive.equals(bytes)) continue
    const answer = await server.ask('PUT', snapshotUrl, archive)
    const after = await rowsOf(server)
    if (answer.status === 200) {
      // Blanks in the JSON of its end say nothing else.
      const same = bytes.subarray(0, trailerStart).equals(archive.subarray(0, trailerStart))
      t.ok(same, `archive ${number}: what was accepted differs in its end alone`)
      t.same(after, archived, `archive ${number}: it is the archive that was restored`)
      await server.ask('PUT', '/v1/kv/later', 'v')
      continue
    }
    if (answer.status !== 400) t.fail(`archive ${number}: ${answer.status} ${answer.body}`)
    if (!encodeBlock(after).equals(encodeBlock(before))) t.fail(`archive ${number}: rows changed`)
  }
  t.equal((await server.ask('PUT', snapshotUrl, bytes)).status, 200)
})

void t.test(`archives of wrong rows, FUZZ_SEED=${seed}`, async (t) => {
  const server = await filledServer(t)
  const archived = await rowsOf(server)
  const good = await archiveOf([encodeBlock(archived)], archived.length)
  const counts = { refused: 0, accepted: 0 }
  for (let number = 0; number < archivesOfEach; number += 1) {
    const rows = [...archived]
    for (let changes = pick([1, 1, 1, 2, 5]); changes > 0; changes -= 1) mutatedRows(rows)
    const ordered = integer(0, 20) === 0 ? rows : inKeyOrder(rows)
    const split = integer(0, ordered.length)
    const blocks = [ordered.slice(0, split), ordered.slice(split)].map(encodeBlock)
    const before = await rowsOf(server)
    const archive = await archiveOf(blocks, ordered.length)
    const answer = await server.ask('PUT', snapshotUrl, archive)
    const name = `archive ${number}`
    if (answer.status === 400) {
      counts.refused += 1
      const after = await rowsOf(server)
      if (!encodeBlock(after).equals(encodeBlock(before))) t.fail(`${name}: rows changed`)
      continue
    }
    if (answer.status !== 200) t.fail(`${name}: ${answer.status} ${answer.body}`)
    counts.accepted += 1
    for (const { request, answer } of await meetEveryTable(server)) {
      const { status, body } = answer
      const isSealed = sealing.test(request) && wrongSeals.test(body)
      const waived = isSealed || (acquiring.test(request) && endedSession.test(body))
      if (status >= 500 && !waived) t.fail(`${name}: ${request}: ${status} ${body.slice(0, 300)}`)
    }
    t.same((await sweepRows(server.machine)).faults, [], `${name}: what commands made of it`)
    t.equal((await server.ask('PUT', snapshotUrl, good)).status, 200, `${name}: restored again`)
  }
  t.comment(counts)
  t.ok(counts.refused > 0 && counts.accepted > 0, JSON.stringify(counts))
})
