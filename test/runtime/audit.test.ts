/** The audit log of an agent: the shape of its lines, its bounds, and disks that refuse. */
import { createHmac, hkdfSync } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { AuditedRequest } from '../../src/api/audit.ts'
import { clusterKeyOf } from '../../src/domains/variables/cluster-key.ts'
import { silentLogger, type Logger } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'
import {
  AuditLog,
  type AuditLogOptions,
  type AuditSettings,
  type TokenBearers,
} from '../../src/runtime/audit.ts'
import { clusterHasher } from '../../src/domains/variables/secret-hasher.ts'
import { serverBearers } from '../../src/server/token-bearers.ts'
import { eventuallyTrue } from '../support/eventually.ts'

const clusterKey = clusterKeyOf(Buffer.alloc(32, 7))
const secret = 'the-secret-of-a-token-0123456789'
const accessor = '7a4b1c2d-0000-4000-8000-00000000abcd'

const accessorOf = (token: string) => (token === secret ? accessor : null)

const request: AuditedRequest = {
  requestId: 'r-1',
  remote: '10.0.0.7',
  method: 'PUT',
  url: '/v1/kv/app/db?cas=3&token=x',
  route: '/v1/kv/*',
  call: 'kv.put',
  token: null,
  accessor: null,
  status: 200,
  error: null,
  durationMs: 1.23456,
  forwarded: false,
}

function logOf(lines: string[]): Logger {
  const take = (message: string): void => void lines.push(message)
  return { ...silentLogger, info: take, warn: take, error: take }
}

async function opened(
  t: Test,
  settings: Partial<AuditSettings> = {},
  options: Partial<AuditLogOptions> = {},
) {
  const path = join(t.testdir(), 'audit', 'audit.log')
  const whole: AuditSettings = {
    enabled: true,
    path,
    rotateBytes: 2 ** 20,
    rotateFilesMax: 2,
    required: false,
    ...settings,
  }
  const log: string[] = []
  const audit = await AuditLog.open({
    server: 's1',
    settings: whole,
    bearers: serverBearers(
      accessorOf,
      clusterHasher(async () => clusterKey),
    ),
    clock: systemClock,
    log: logOf(log),
    ...options,
  })
  t.teardown(() => audit.stop())
  const lines = async (): Promise<Record<string, unknown>[]> =>
    (await readFile(path, 'utf8'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const written = (count: number) =>
    eventuallyTrue(`${count} lines`, async () => (await lines()).length >= count)
  return { audit, path, settings: whole, log, lines, written }
}

t.test('a line says when, who, what, how it ended and how long it took', async (t) => {
  const { audit, lines, path } = await opened(t)
  audit.record(request)
  audit.record({
    ...request,
    requestId: 'r-2',
    token: secret,
    status: 400,
    error: 'flags must be a number, not "s3cret"',
    forwarded: true,
  })
  audit.record({
    ...request,
    token: 'unknown-token-0123456789',
    url: '/v1/x',
    route: null,
    call: null,
  })
  await audit.stop()
  const [first, second, third] = await lines()
  t.equal(
    Object.keys(first ?? {}).join(' '),
    'time type server id remote method path route call accessor token status error ms forwarded',
  )
  t.match(first, {
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    type: 'request',
    server: 's1',
    id: 'r-1',
    remote: '10.0.0.7',
    method: 'PUT',
    path: '/v1/kv/app/db?cas=3&token=<redacted>',
    route: '/v1/kv/*',
    call: 'kv.put',
    accessor: 'anonymous',
    token: null,
    status: 200,
    error: null,
    ms: 1.235,
    forwarded: false,
  })
  t.match(second, {
    accessor,
    status: 400,
    error: 'flags must be a number, not "…"',
    forwarded: true,
  })
  t.match(third, { accessor: 'unknown', route: null, call: null })
  t.equal((await stat(path)).mode & 0o777, 0o600)
})

t.test('what follows from a request has a line of its own', async (t) => {
  const { audit, lines } = await opened(t)
  const lockout = {
    type: 'lockout',
    requestId: 'r-1',
    remote: '10.0.0.7',
    accessor: null,
    mount: 'team/ldap',
    name: 'ada',
    untilMs: Date.UTC(2026, 0, 1),
  } as const
  audit.record(request)
  audit.note(lockout)
  audit.note({ ...lockout, type: 'unlock', requestId: 'r-2', accessor, untilMs: null })
  await audit.stop()
  const [first, second, third] = await lines()
  t.match(first, { type: 'request' })
  t.equal(
    Object.keys(second ?? {}).join(' '),
    'time type server id remote accessor mount name until',
  )
  t.match(second, {
    time: /^\d{4}-/,
    type: 'lockout',
    server: 's1',
    id: 'r-1',
    remote: '10.0.0.7',
    accessor: 'anonymous',
    mount: 'team/ldap',
    name: 'ada',
    until: '2026-01-01T00:00:00.000Z',
  })
  t.match(third, { type: 'unlock', id: 'r-2', accessor, until: null })
})

t.test('of a token there is a hash that anyone with the cluster key can make', async (t) => {
  const { audit, lines, path } = await opened(t)
  for (let at = 0; at < 3; at += 1) audit.record({ ...request, token: secret })
  audit.record({ ...request, token: `${secret}x` })
  await audit.stop()
  const key = hkdfSync('sha256', clusterKey.bytes, Buffer.alloc(0), 'muster audit 1', 32)
  const hash = createHmac('sha256', Buffer.from(key)).update(secret).digest('hex')
  const tokens = (await lines()).map(({ token }) => token)
  const expected = `hmac-sha256:${clusterKey.id.slice(0, 8)}:${hash}`
  t.same(tokens.slice(0, 3), [expected, expected, expected])
  t.not(tokens[3], expected)
  t.notOk((await readFile(path, 'utf8')).includes(secret))
})

t.test('without the cluster key tokens have no hash, and the lines are there', async (t) => {
  const without = clusterHasher(async () => null)
  const { audit, lines } = await opened(t, {}, { bearers: serverBearers(accessorOf, without) })
  audit.record({ ...request, token: secret })
  await audit.stop()
  t.match(await lines(), [{ accessor, token: null }])
})

t.test('a key that cannot be read costs the hash and nothing else', async (t) => {
  const bearers = serverBearers(accessorOf, () => Promise.reject(new Error('closed')))
  const { audit, lines } = await opened(t, {}, { bearers })
  audit.record({ ...request, token: secret })
  await audit.stop()
  t.match(await lines(), [{ token: null }])
})

t.test('whoever is not known at once may be known when the line is made', async (t) => {
  const asked: string[][] = []
  const bearers: TokenBearers = {
    accessorOf: () => null,
    shown: async (tokens) => {
      asked.push([...tokens])
      return new Map([[secret, { accessor, hash: 'its hash' }]])
    },
  }
  const { audit, lines } = await opened(t, {}, { bearers })
  for (const token of [secret, secret, 'stranger', null]) audit.record({ ...request, token })
  await audit.stop()
  t.match(await lines(), [
    { accessor, token: 'its hash' },
    { accessor, token: 'its hash' },
    { accessor: 'unknown', token: null },
    { accessor: 'anonymous', token: null },
  ])
  t.same(asked, [[secret, 'stranger']], 'once for all lines, each token once')
})

t.test('switched off it records nothing and has no file', async (t) => {
  const { audit, path, settings } = await opened(t, { enabled: false })
  t.equal(audit.enabled, false)
  audit.record(request)
  await t.rejects(stat(path), { code: 'ENOENT' })
  await audit.reload({ ...settings, enabled: true })
  t.equal(audit.enabled, true)
  audit.record(request)
  await audit.reload(settings)
  t.equal(audit.enabled, false)
  audit.record(request)
  t.equal((await readFile(path, 'utf8')).split('\n').length, 2, 'what waited was written')
})

t.test('a path that cannot be had refuses the start, and changes nothing later', async (t) => {
  const folder = t.testdir()
  await t.rejects(opened(t, { path: folder }), {
    code: 'invalid_argument',
    message: /^audit\.path: /,
  })
  const { audit, settings, lines } = await opened(t)
  await t.rejects(audit.reload({ ...settings, path: dirname(settings.path) }), {
    code: 'invalid_argument',
  })
  audit.record(request)
  await audit.stop()
  t.equal((await lines()).length, 1)
})

t.test(
  'lines beyond the bound are dropped, counted and told once; the log shows the gap',
  async (t) => {
    const { audit, lines, log, written } = await opened(t, {}, { linesMax: 4 })
    for (let at = 0; at < 10; at += 1) audit.record({ ...request, requestId: `r-${at}` })
    t.match(audit.counts, { dropped: 6, waiting: 4 })
    await written(4)
    await eventuallyTrue('the gap is told', async () => (await lines()).length === 5)
    audit.record({ ...request, requestId: 'later' })
    await written(6)
    const all = await lines()
    t.same(
      all.map(({ type, id, dropped }) => (type === 'gap' ? dropped : id)),
      ['r-0', 'r-1', 'r-2', 'r-3', 6, 'later'],
    )
    t.match(all[4], { server: 's1', since: /Z$/, time: /Z$/ })
    t.same(log, [
      'lines of the audit log are dropped: more wait for the disk than may',
      'lines of the audit log were dropped',
    ])
  },
)

t.test('long paths fill the queue sooner', async (t) => {
  const { audit, lines } = await opened(t)
  const url = `/v1/kv/${'k'.repeat(2 ** 20)}`
  for (let at = 0; at < 20; at += 1) audit.record({ ...request, url })
  t.match(audit.counts, { dropped: 4, waiting: 16 })
  await eventuallyTrue('written, and the gap', async () => (await lines()).length === 17)
  audit.record({ ...request, url })
  await audit.stop()
  t.match(audit.counts, { dropped: 4, waiting: 0 })
})

t.test('many lines keep their order, and rotation cuts between lines', async (t) => {
  const { audit, path, lines } = await opened(t, { rotateBytes: 65_536, rotateFilesMax: 50 })
  for (let at = 0; at < 2_000; at += 1) audit.record({ ...request, requestId: `r-${at}` })
  await audit.stop()
  t.equal(audit.counts.written, 2_000)
  const names = (await readdir(dirname(path))).sort()
  t.ok(names.length > 5, `${names.length} files`)
  const last = await lines()
  t.equal(last.at(-1)?.['id'], 'r-1999')
  const texts = await Promise.all(names.map((name) => readFile(join(dirname(path), name), 'utf8')))
  t.ok(texts.every((text) => text.endsWith('}\n')))
  const count = texts.join('').split('\n').length - 1
  t.equal(count, 2_000)
})

t.test('opened anew, the log goes on in a file of the old name', async (t) => {
  const { audit, path, settings, lines, written } = await opened(t)
  audit.record({ ...request, requestId: 'before' })
  await written(1)
  await rename(path, `${path}.moved`)
  await audit.reload(settings)
  audit.record({ ...request, requestId: 'after' })
  await written(1)
  t.match(await lines(), [{ id: 'after' }])
  t.match(await readFile(`${path}.moved`, 'utf8'), /"before"/)
})

/** A log whose next rotation fails, for its folder became a file; `mend` makes it a folder again. */
async function failing(t: Test, required: boolean, linesMax: number) {
  const given = await opened(t, { rotateBytes: 1, required }, { linesMax })
  const { audit, path, written } = given
  audit.record({ ...request, requestId: 'first' })
  await written(1)
  const folder = dirname(path)
  await rename(folder, `${folder}.away`)
  await writeFile(folder, '')
  const mend = async (): Promise<void> => {
    await rm(folder)
    await mkdir(folder)
  }
  return { ...given, mend }
}

t.test(
  'a disk that refuses costs no line while there is room for them, and is told once',
  async (t) => {
    const { audit, log, lines, mend } = await failing(t, false, 100)
    for (let at = 0; at < 3; at += 1) audit.record({ ...request, requestId: `r-${at}` })
    await eventuallyTrue('it was tried again', () => audit.counts.failedWrites >= 2)
    t.equal(audit.refusing, false)
    t.match(audit.counts, { dropped: 0, waiting: 3 })
    await mend()
    await eventuallyTrue('written', () => audit.counts.waiting === 0)
    t.same(
      (await lines()).map(({ id }) => id),
      ['r-0', 'r-1', 'r-2'],
    )
    t.same(log, [
      'the audit log cannot be written; it is tried again',
      'the audit log is written again',
    ])
  },
)

t.test(
  'where it is required, requests are refused meanwhile, and none that ran is missing',
  async (t) => {
    const { audit, lines, mend } = await failing(t, true, 4)
    t.equal(audit.refusing, false)
    // More were under way than the queue holds.
    for (let at = 0; at < 10; at += 1) audit.record({ ...request, requestId: `r-${at}` })
    t.equal(audit.refusing, true, 'the queue is full')
    await eventuallyTrue('it failed', () => audit.counts.failedWrites >= 1)
    t.equal(audit.refusing, true)
    await mend()
    await eventuallyTrue('written', () => audit.counts.waiting === 0)
    t.equal(audit.refusing, false)
    t.equal(audit.counts.dropped, 0)
    t.equal((await lines()).length, 10)
  },
)

t.test('a stop does not wait for ever for a disk that refuses', async (t) => {
  const { audit } = await failing(t, false, 10)
  audit.record(request)
  await audit.stop()
  t.equal(audit.counts.waiting, 1)
})
