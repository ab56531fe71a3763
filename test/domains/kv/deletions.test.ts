/** What deletions leave behind: the index of a prefix shows them, and no read pays for their number. */
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { reapedRows, reapedRowsMax } from '../../../src/domains/kv/commands.ts'
import { directoriesOf, markedDirectoriesMax } from '../../../src/domains/kv/deletion-model.ts'
import { deletionIndex } from '../../../src/domains/kv/deletion-queries.ts'
import { deletionMarksMax, type DeletionMarkRow } from '../../../src/domains/kv/model.ts'
import { marksBeyondMax } from '../../../src/domains/kv/queries.ts'
import { deletionMarks, lockMarks, tombstones } from '../../../src/domains/kv/table.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import type { Table } from '../../../src/fsm/domain.ts'
import { smallCascadesVersion } from '../../../src/fsm/fact.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

const namespace = 'default'
const late = 8_000_000_000_000_000

async function rowsOf<Row>(server: ServerOfOne, table: Table<Row>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of server.machine.reader().pages(table)) rows.push(...page)
  return rows
}

async function write(server: ServerOfOne, type: 'set' | 'delete', keys: readonly string[]) {
  const content = type === 'set' ? { value: Buffer.of(1), flags: '0' } : {}
  const operations = keys.map((key) => ({ type, namespace, key, ...content }))
  const args = { operations, fence: null, nowMs: 1_000 }
  const { index } = await server.propose({ type: 'kv.write', args })
  return index
}

async function indexOf(server: ServerOfOne, url: string): Promise<number> {
  return Number((await server.ask('GET', url)).headers['x-service-index'])
}

void t.test('directories of a key', (t) => {
  const cases: readonly (readonly [key: string, directories: readonly string[]])[] = [
    ['', ['']],
    ['a', ['']],
    ['a/', ['', 'a/']],
    ['a/b', ['', 'a/']],
    ['a/b/c', ['', 'a/', 'a/b/']],
    ['/a//b', ['', '/', '/a/', '/a//']],
    ['/'.repeat(20), Array.from({ length: markedDirectoriesMax + 1 }, (_, n) => '/'.repeat(n))],
  ]
  for (const [key, directories] of cases) t.same(directoriesOf(key), directories, key)
  t.end()
})

void t.test('many deletions in one directory leave as many marks as one', async (t) => {
  const server = await serverOfOne(t)
  const names = Array.from({ length: 64 }, (_, at) => `dir/sub/${at}`)
  await write(server, 'set', ['dir/live', ...names.slice(1)])
  await write(server, 'delete', names.slice(1, 2))
  const one = await rowsOf(server, deletionMarks)
  await write(server, 'delete', names.slice(2))
  const many = await rowsOf(server, deletionMarks)
  t.same(
    many.map(({ scope, directory }) => `${scope} ${directory}`),
    ['below ', 'below dir/', 'below dir/sub/', 'in dir/sub/'],
  )
  t.equal(one.length, many.length)
  t.same([await rowsOf(server, tombstones), await rowsOf(server, lockMarks)], [[], []])
})

void t.test('the index of a prefix is that of its deletions, as a scan of all finds', async (t) => {
  const server = await serverOfOne(t)
  const key = fc
    .array(fc.constantFrom('a', 'b', '/', '/'), { minLength: 1, maxLength: 24 })
    .map((letters) => letters.join(''))
  const deleted = new Map<string, number>()
  const told = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(key, { minLength: 1, maxLength: 8 }), key, async (keys, other) => {
      const some = [...new Set(keys)]
      await write(server, 'set', some)
      const index = await write(server, 'delete', some)
      for (const gone of some) deleted.set(gone, index)
      const prefixes = [other, ...some, ...some.flatMap((gone) => directoriesOf(gone))]
      for (const prefix of prefixes) {
        const found = await deletionIndex(server.machine.reader(), { namespace, key: prefix })
        const below = [...deleted].filter(([gone]) => gone.startsWith(prefix))
        const exact = Math.max(0, ...below.map(([, at]) => at))
        const isDirectory = directoriesOf(prefix).at(-1) === prefix
        if (isDirectory && found !== exact) throw new Error(`${prefix}: ${found}, not ${exact}`)
        if (found < exact) throw new Error(`${prefix}: ${found} is below ${exact}`)
        if (found < (told.get(prefix) ?? 0)) throw new Error(`${prefix} fell to ${found}`)
        told.set(prefix, found)
      }
    }),
    { numRuns: 60 },
  )
})

void t.test('a prefix that is no directory stands still for other directories', async (t) => {
  const server = await serverOfOne(t)
  await write(server, 'set', ['traefik/http/a', 'traefik/http/b', 'other/x', 'other/y', 'traf/z'])
  const url = '/v1/kv/traefik?recurse'
  const before = await indexOf(server, url)
  await write(server, 'delete', ['other/x', 'traf/z'])
  t.equal(await indexOf(server, url), before)
  const index = await write(server, 'delete', ['traefik/http/a'])
  t.equal(await indexOf(server, url), index)
  const many = Array.from({ length: 64 }, (_, at) => `traefik/${at}/x`)
  await write(server, 'set', many)
  await write(server, 'delete', many)
  t.ok((await indexOf(server, url)) > index, 'with more directories than are read singly')
})

void t.test('a blocking read wakes for what goes below its prefix alone', async (t) => {
  const server = await serverOfOne(t)
  await write(server, 'set', ['p/one', 'p/two', 'q/one', 'q/two'])
  const index = await indexOf(server, '/v1/kv/p/?recurse')
  const waiting = server.ask('GET', `/v1/kv/p/?recurse&index=${index}&wait=30s`)
  await eventuallyTrue('it is parked', () => server.machine.watchStats().parked === 1)
  await write(server, 'delete', ['q/one'])
  t.equal(server.machine.watchStats().parked, 1)
  const last = await write(server, 'delete', ['p/one'])
  const answer = await waiting
  t.equal(Number(answer.headers['x-service-index']), last)
  t.same(
    (answer.json() as { Key: string }[]).map(({ Key }) => Key),
    ['p/two'],
  )
})

void t.test('an upgrade lets no index fall and no LockIndex repeat', async (t) => {
  const server = await serverOfOne(t, { commandVersion: 1 })
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  const made = await server.ask('PUT', '/v1/session/create', { Node: 'one', NodeChecks: [] })
  const { ID } = made.json() as { ID: string }
  const acquire = async () => {
    await server.ask('PUT', `/v1/kv/p/lock?acquire=${ID}`, 'v')
    const answer = await server.ask('GET', '/v1/kv/p/lock')
    return (answer.json() as { LockIndex: number }[])[0]?.LockIndex
  }
  t.equal(await acquire(), 1)
  await write(server, 'set', ['p/live', 'q/live'])
  await write(server, 'delete', ['p/lock'])
  const before = await indexOf(server, '/v1/kv/p/?recurse')
  await server.propose({ type: 'state.raiseVersion', args: { version: commandVersion } })
  t.ok((await indexOf(server, '/v1/kv/p/?recurse')) >= before)
  t.equal(await acquire(), 2, 'over the mark of an older program')
  await write(server, 'delete', ['p/lock'])
  t.equal(await acquire(), 3, 'and over one of this')
  await write(server, 'delete', ['p/lock'])
  const after = await indexOf(server, '/v1/kv/p/?recurse')
  const args = { tombstonesBeforeMs: late, delaysBeforeMs: late }
  await server.propose({ type: 'kv.reap', args })
  t.same([await rowsOf(server, tombstones), await rowsOf(server, lockMarks)], [[], []])
  t.ok((await indexOf(server, '/v1/kv/p/?recurse')) >= after)
  t.equal(await acquire(), 4)
})

void t.test('marks beyond their bound go, old ones alone, and no index falls', async (t) => {
  const server = await serverOfOne(t)
  const count = deletionMarksMax / 2
  for (let from = 0; from < count; from += 64) {
    const part = Array.from({ length: 64 }, (_, at) => `${from + at}/x`)
    await write(server, 'set', part)
    await write(server, 'delete', part)
  }
  const reader = server.machine.reader()
  t.same(await marksBeyondMax(reader, 1_000), [], 'none is old')
  const marks: readonly DeletionMarkRow[] = await marksBeyondMax(reader, 1_001)
  t.ok(marks.length > 0 && marks.length <= reapedRowsMax, `${marks.length} too many`)
  const [first] = marks
  if (first === undefined) throw new Error('there are some')
  const place = { namespace, key: first.directory }
  const before = await deletionIndex(reader, place)
  const changed = { ...first, index: first.index - 1 }
  const refused = await server.propose({ type: 'kv.reapMarks', args: { marks: [changed] } })
  t.same(refused.outcome, { removed: 0 }, 'not one that changed since')
  // A prefix with more directories than are read singly, and few after this.
  const wide = { namespace, key: '1' }
  const last = await deletionIndex(reader, wide)
  const inWide = (await rowsOf(server, deletionMarks)).filter(({ directory }) => {
    return directory.startsWith('1')
  })
  for (let at = 0; at < inWide.length; at += reapedRowsMax) {
    const part = inWide.slice(at, at + reapedRowsMax)
    await server.propose({ type: 'kv.reapMarks', args: { marks: part } })
  }
  t.ok((await deletionIndex(reader, wide)) >= last, 'nor that of a prefix with many directories')
  await server.propose({ type: 'kv.reapMarks', args: { marks: [...marks] } })
  t.same(await marksBeyondMax(reader, late), [])
  t.ok((await deletionIndex(reader, place)) >= before)
})

void t.test(
  'lock delays that are over go in small entries, once no older server is there',
  async (t) => {
    const count = reapedRows + 44
    for (const [version, removed] of [
      [4, [count]],
      [commandVersion, [reapedRows, 44]],
    ] as const) {
      const server = await serverOfOne(t, { commandVersion: version })
      await server.ask('PUT', '/v1/catalog/register', { Node: 'box', Address: '10.0.0.1' })
      const made = await server.ask('PUT', '/v1/session/create', { Node: 'box', NodeChecks: [] })
      const { ID: session } = made.json() as { readonly ID: string }
      for (let from = 0; from < count; from += 60) {
        const operations = Array.from({ length: Math.min(60, count - from) }, (_, at) => {
          return { KV: { Verb: 'lock', Key: `k${from + at}`, Value: '', Session: session } }
        })
        t.equal((await server.ask('PUT', '/v1/txn', operations)).status, 200)
      }
      await server.ask('PUT', `/v1/session/destroy/${session}`)
      const rest = { type: 'state.continueCascades', args: { rowsMax: count } }
      if (version >= smallCascadesVersion) await server.propose(rest)
      const args = { tombstonesBeforeMs: 0, delaysBeforeMs: late }
      for (const each of removed) {
        t.same((await server.propose({ type: 'kv.reap', args })).outcome, { removed: each })
      }
    }
  },
)
