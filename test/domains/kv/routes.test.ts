import t from 'tap'
import { serverOfOne, type Answer, type ServerOfOne } from '../server-of-one.ts'

type Shown = {
  LockIndex: number
  Key: string
  Flags: number
  Value: string | null
  Session?: string
  CreateIndex: number
  ModifyIndex: number
}

const indexOf = ({ headers }: Answer) => Number(headers['x-service-index'])

async function entry(server: ServerOfOne, key: string): Promise<Shown> {
  const [shown] = (await server.ask('GET', `/v1/kv/${key}`)).json() as Shown[]
  if (shown === undefined) throw new Error(`${key} is not there`)
  return shown
}

void t.test('a key is written, read, and deleted', async (t) => {
  const server = await serverOfOne(t)
  const put = await server.ask('PUT', '/v1/kv/app/name?flags=18446744073709551615', 'ada')
  t.equal(put.status, 200)
  t.equal(put.body, 'true')
  t.equal(put.headers['content-type'], 'application/json')

  const read = await server.ask('GET', '/v1/kv/app/name')
  t.match(read.body, /"Flags":18446744073709551615,/, 'all digits')
  const [shown] = read.json() as Shown[]
  t.match(shown, { LockIndex: 0, Key: 'app/name', Value: 'YWRh' })
  t.equal(shown?.CreateIndex, shown?.ModifyIndex)
  t.equal(indexOf(read), shown?.ModifyIndex)
  t.same(Object.keys(shown ?? {}), [
    'LockIndex',
    'Key',
    'Flags',
    'Value',
    'CreateIndex',
    'ModifyIndex',
  ])

  t.equal((await server.ask('GET', '/v1/kv/app/name')).body, read.body, 'read again')
  const pretty = (await server.ask('GET', '/v1/kv/app/name?pretty')).body
  t.match(pretty, /\n {8}"Flags": 18446744073709551615,\n/, 'all digits here too')
  t.equal(pretty.replaceAll(/\n */g, '').replaceAll('": ', '":'), read.body)

  const raw = await server.ask('GET', '/v1/kv/app/name?raw')
  t.equal(raw.body, 'ada')
  t.equal(raw.headers['x-content-type-options'], 'nosniff')
  t.equal(raw.headers['content-security-policy'], 'sandbox')
  t.match(raw.headers['content-type'], /^text\/plain/)

  await server.ask('PUT', '/v1/kv/app/name', 'eve')
  const changed = await entry(server, 'app/name')
  t.equal(changed.Flags, 0, 'a write without flags sets 0')
  t.equal(changed.CreateIndex, shown?.CreateIndex)

  t.equal((await server.ask('DELETE', '/v1/kv/app/name')).body, 'true')
  t.equal((await server.ask('DELETE', '/v1/kv/app/name')).body, 'true', 'again')
  const absent = await server.ask('GET', '/v1/kv/app/name')
  t.equal(absent.status, 404)
  t.equal(absent.body, '')
  t.ok(indexOf(absent) > changed.ModifyIndex)
})

void t.test('a write of what stands there changes no index', async (t) => {
  const server = await serverOfOne(t)
  for (const size of [3, 2_000]) {
    const value = 'x'.repeat(size)
    await server.ask('PUT', '/v1/kv/a?flags=7', value)
    const before = await entry(server, 'a')
    t.equal((await server.ask('PUT', '/v1/kv/a?flags=7', value)).body, 'true')
    t.equal(
      (await server.ask('PUT', `/v1/kv/a?flags=7&cas=${before.ModifyIndex}`, value)).body,
      'true',
    )
    t.same(await entry(server, 'a'), before)
    await server.ask('PUT', '/v1/kv/a?flags=8', value)
    t.ok((await entry(server, 'a')).ModifyIndex > before.ModifyIndex)
  }
})

void t.test('values are bytes, up to their limit', async (t) => {
  const server = await serverOfOne(t)
  const bytes = Buffer.alloc(524_288, 0xfe)
  t.equal((await server.ask('PUT', '/v1/kv/big', bytes)).body, 'true')
  const raw = await server.ask('GET', '/v1/kv/big?raw')
  t.ok(raw.bytes.equals(bytes))
  t.equal((await server.ask('PUT', '/v1/kv/big', Buffer.alloc(524_289))).status, 413)
  t.ok((await server.ask('GET', '/v1/kv/big?raw')).bytes.equals(bytes), 'nothing was written')

  await server.ask('PUT', '/v1/kv/big', 'short')
  t.equal((await server.ask('GET', '/v1/kv/big?raw')).body, 'short')
  await server.ask('PUT', '/v1/kv/big')
  t.equal((await entry(server, 'big')).Value, null, 'an empty value')
})

void t.test('check and set', async (t) => {
  const server = await serverOfOne(t)
  const put = async (query: string, value = 'v') =>
    (await server.ask('PUT', `/v1/kv/a${query}`, value)).body
  t.equal(await put('?cas=9'), 'false')
  t.equal(await put('?cas=0', 'one'), 'true')
  t.equal(await put('?cas=0', 'two'), 'false', 'it exists')
  const { ModifyIndex } = await entry(server, 'a')
  t.equal(await put(`?cas=${ModifyIndex}`, 'two'), 'true')
  t.equal(await put(`?cas=${ModifyIndex}`, 'three'), 'false')
  t.equal(await put('?cas=18446744073709551615'), 'false')

  const remove = async (query: string) => (await server.ask('DELETE', `/v1/kv/a${query}`)).body
  t.equal(await remove('?cas=0'), 'false', 'never of a key that exists')
  t.equal(await remove(`?cas=${ModifyIndex}`), 'false')
  t.equal(await remove(`?cas=${(await entry(server, 'a')).ModifyIndex}`), 'true')
  t.equal(await remove('?cas=77'), 'true', 'it is gone already')
})

void t.test('lists of keys and values', async (t) => {
  const server = await serverOfOne(t)
  const keys = ['a', 'a/b', 'a/b/c', 'a/bc', 'b/x/1', 'b/x/2', 'b/y', 'zoë', 'z😀']
  for (const key of keys) await server.ask('PUT', `/v1/kv/${encodeURIComponent(key)}`, key)
  const list = async (url: string) => (await server.ask('GET', url)).json()
  t.same(await list('/v1/kv/?keys'), keys, 'in the order of their bytes')
  t.same(await list('/v1/kv/b/?keys&recurse&raw'), ['b/x/1', 'b/x/2', 'b/y'])
  t.same(await list('/v1/kv/b/?keys&separator=/'), ['b/x/', 'b/y'])
  t.same(await list('/v1/kv/b/?keys=no&seperator=x/'), ['b/x/', 'b/y'])
  t.same(await list('/v1/kv/?keys&separator=/'), ['a', 'a/', 'b/', 'zoë', 'z😀'])
  const tree = (await list('/v1/kv/a/?recurse=0')) as Shown[]
  t.same(
    tree.map(({ Key, Value }) => [Key, Value]),
    ['a/b', 'a/b/c', 'a/bc'].map((key) => [key, Buffer.from(key).toString('base64')]),
  )
  t.equal((await server.ask('GET', '/v1/kv/none?recurse')).status, 404)
  t.equal((await server.ask('GET', '/v1/kv/none?keys')).status, 404)

  t.equal((await server.ask('DELETE', '/v1/kv/a/b?recurse')).body, 'true')
  t.same(await list('/v1/kv/a?keys'), ['a'])
  await server.ask('DELETE', '/v1/kv/?recurse')
  t.same(await list('/v1/kv/?keys'), [], 'the root has a list even when it is empty')
})

void t.test('with older servers too a prefix shows deletions, and does not fall', async (t) => {
  const server = await serverOfOne(t, { commandVersion: 1 })
  await server.ask('PUT', '/v1/kv/p/one', '1')
  await server.ask('PUT', '/v1/kv/p/two', '2')
  await server.ask('PUT', '/v1/kv/q/one', '1')
  const list = () => server.ask('GET', '/v1/kv/p/?keys')
  const before = indexOf(await list())
  t.equal(before, (await entry(server, 'p/two')).ModifyIndex, 'not moved by other prefixes')
  await server.ask('DELETE', '/v1/kv/p/two')
  const deleted = indexOf(await list())
  t.ok(deleted > before)
  await server.ask('PUT', '/v1/kv/q/two', '2')
  t.equal(indexOf(await list()), deleted)

  const future = Date.now() + 3_600_000
  const reaped = await server.propose({
    type: 'kv.reap',
    args: { tombstonesBeforeMs: future, delaysBeforeMs: future },
  })
  t.same(reaped.outcome, { removed: 1 })
  t.ok(indexOf(await list()) >= deleted, 'also when the mark of the deletion is gone')
  const again = await server.propose({
    type: 'kv.reap',
    args: { tombstonesBeforeMs: future, delaysBeforeMs: future },
  })
  t.same(again.outcome, { removed: 0 })
})

void t.test('a long list is the same as a short one', async (t) => {
  const server = await serverOfOne(t)
  const names: string[] = []
  for (let at = 0; at < 48; at += 1) {
    const operations = Array.from({ length: 64 }, (_, n) => {
      const key = `long/${String(at * 64 + n).padStart(5, '0')}`
      names.push(key)
      return { KV: { Verb: 'set', Key: key, Value: Buffer.from(key).toString('base64') } }
    })
    t.equal((await server.ask('PUT', '/v1/txn', operations)).status, 200)
  }
  const keys = await server.ask('GET', '/v1/kv/long/?keys')
  t.same(keys.json(), names)
  const tree = (await server.ask('GET', '/v1/kv/long/?recurse')).json() as Shown[]
  t.same(
    tree.map(({ Value }) => Buffer.from(Value ?? '', 'base64').toString()),
    names,
  )
})

void t.test('blocking reads wake on their own changes', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/kv/a', '1')
  const { ModifyIndex } = await entry(server, 'a')
  const changed = server.ask('GET', `/v1/kv/a?index=${ModifyIndex}&wait=30s`)
  const below = server.ask('GET', `/v1/kv/dir/?recurse&index=${ModifyIndex}&wait=30s`)
  await server.ask('PUT', '/v1/kv/other', '1')
  await server.ask('PUT', '/v1/kv/a', '1')
  await server.ask('PUT', '/v1/kv/a', '2')
  await server.ask('PUT', '/v1/kv/dir/x', '3')
  const [shown] = (await changed).json() as Shown[]
  t.equal(shown?.Value, Buffer.from('2').toString('base64'), 'not by a write that changed nothing')
  t.equal((await below).status, 200)

  const index = indexOf(await server.ask('GET', '/v1/kv/missing'))
  const created = server.ask('GET', `/v1/kv/missing?index=${index}&wait=30s`)
  await server.ask('PUT', '/v1/kv/missing', 'here')
  t.equal((await created).status, 200)
  const removed = server.ask('GET', `/v1/kv/missing?index=${indexOf(await created)}&wait=30s`)
  await server.ask('DELETE', '/v1/kv/missing')
  t.equal((await removed).status, 404)
})

void t.test('what is refused', async (t) => {
  const server = await serverOfOne(t)
  const rows: [method: string, url: string, status: number, body?: RegExp][] = [
    ['GET', '/v1/kv/', 400, /Missing key/],
    ['PUT', '/v1/kv/', 400, /Missing key/],
    ['DELETE', '/v1/kv/', 400, /Missing key/],
    ['PUT', '/v1/kv/a?cas=1&acquire=x', 400, /Conflicting flags/],
    ['PUT', '/v1/kv/a?release=x&acquire=x', 400, /Conflicting flags/],
    ['DELETE', '/v1/kv/a?recurse&cas=1', 400, /Conflicting flags/],
    ['PUT', '/v1/kv/a?cas=', 400, /cas/],
    ['PUT', '/v1/kv/a?cas=-1', 400, /cas/],
    ['PUT', '/v1/kv/a?flags=', 400, /flags/],
    ['PUT', '/v1/kv/a?flags=0x1', 400, /flags/],
    ['PUT', '/v1/kv/a?flags=18446744073709551616', 400, /flags/],
    ['PUT', '/v1/kv/a?acquire=', 400, /session/],
    ['PUT', '/v1/kv/a?acquire=nonsense', 400, /^invalid session "nonsense"/],
    ['PUT', '/v1/kv/a?acquire=6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a', 500, /^invalid session/],
    ['PUT', '/v1/kv/a?release=', 400, /session/],
    ['GET', '/v1/kv/a%00b', 400],
    ['GET', '/v1/kv/a%7fb', 400],
    ['GET', '/v1/kv/a%e2%80%8bb', 400, /printable/],
    ['GET', '/v1/kv/a%zz', 400],
    ['GET', '/v1/kv/a?index=x', 400],
    ['GET', '/v1/kv/a?stale&consistent', 400],
    ['GET', '/v1/kv/a?dc=mars', 400, /mars/],
    ['GET', '/v1/kv/a?dc=DC1', 404],
    ['GET', '/v1/kv/a?dc=', 404],
    ['PUT', '/v1/kv/a?ns=*', 400, /namespace/],
    ['PUT', '/v1/kv/a?ns=nowhere', 400, /does not exist/],
    ['PUT', '/v1/kv/a?lock=x', 400, /lock_index/],
    ['PUT', '/v1/kv/a?lock_index=1', 400, /lock/],
    ['POST', '/v1/kv/', 405],
    ['POST', '/v1/kv/a', 405],
    ['PATCH', '/v1/kv/a', 405],
  ]
  for (const [method, url, status, body] of rows) {
    const answer = await server.ask(method, url, method === 'PUT' ? 'v' : undefined)
    t.equal(answer.status, status, `${method} ${url}: ${answer.body}`)
    if (body !== undefined) t.match(answer.body, body, `${method} ${url}`)
  }
  t.equal((await server.ask('PUT', '/v1/kv/a?release=nonsense', 'v')).body, 'false')
  t.same((await server.ask('GET', '/v1/kv/?keys')).json(), [], 'and nothing was written')
})

void t.test('keys are what was sent', async (t) => {
  const server = await serverOfOne(t)
  const rows: [path: string, key: string][] = [
    ['a%2Fb', 'a/b'],
    ['a+b', 'a+b'],
    ['a//b/', 'a//b/'],
    ['A', 'A'],
    ['%c3%bc%20x', 'ü x'],
    ['x'.repeat(3_000), 'x'.repeat(3_000)],
  ]
  for (const [path, key] of rows) {
    t.equal((await server.ask('PUT', `/v1/kv/${path}`, 'v')).body, 'true')
    t.equal((await entry(server, path)).Key, key)
  }
  t.equal((await server.ask('GET', '/v1/kv/a')).status, 404)
})

void t.test('namespaces have their own keys', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/namespace/team', {})
  await server.ask('PUT', '/v1/kv/a?ns=team', 'theirs')
  t.equal((await server.ask('GET', '/v1/kv/a')).status, 404)
  const [shown] = (await server.ask('GET', '/v1/kv/a?namespace=team')).json() as Record<
    string,
    unknown
  >[]
  t.match(shown, { Key: 'a', Namespace: 'team' })
  t.equal((await server.ask('DELETE', '/v1/namespace/team')).status, 409, 'it is lived in')
})
