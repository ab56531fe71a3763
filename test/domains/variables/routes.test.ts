import t from 'tap'
import type { Authorizer } from '../../../src/rpc/authorizer.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { hastyClock, serverOfOne } from '../server-of-one.ts'

type Shown = {
  Namespace: string
  Path: string
  CreateIndex: number
  ModifyIndex: number
  CreateTime: number
  ModifyTime: number
  Items?: Record<string, string>
}

const items = (value: string) => ({ Items: { value } })

void t.test("a lock of Nomad's variables is refused, and writes nothing", async (t) => {
  const server = await serverOfOne(t)
  for (const operation of ['lock-acquire', 'lock-renew', 'lock-release']) {
    const answer = await server.ask('PUT', `/v1/var/app/lock?${operation}`, items('held'))
    t.match([answer.status, answer.body], [501, /hold one by a session/])
  }
  t.equal((await server.ask('GET', '/v1/var/app/lock')).status, 404)
})

void t.test('a variable is written, read, changed and deleted', async (t) => {
  const server = await serverOfOne(t)
  const created = await server.ask('PUT', '/v1/var/app/db', {
    Path: 'ignored',
    CreateIndex: 99,
    ModifyTime: 5,
    Items: { user: 'ada', pass: 's3cret' },
  })
  t.equal(created.status, 200)
  const first = created.json() as Shown
  t.match(first, { Namespace: 'default', Path: 'app/db', Items: { user: 'ada', pass: 's3cret' } })
  t.equal(first.CreateIndex, first.ModifyIndex)
  t.equal(created.headers['x-service-index'], String(first.ModifyIndex))
  t.match(created.body, /"CreateTime":\d{13}000000,/, 'nanoseconds print exactly')

  const read = await server.ask('GET', '/v1/var/app/db')
  t.same(read.json(), first)
  t.equal(read.headers['x-service-index'], String(first.ModifyIndex))

  t.equal((await server.ask('GET', '/v1/var/app/db')).body, read.body, 'read again')
  const pretty = (await server.ask('GET', '/v1/var/app/db?pretty')).body
  t.equal(pretty, `${JSON.stringify(first, undefined, 4)}\n`)

  const changed = (await server.ask('POST', '/v1/var/app/db', items('two'))).json() as Shown
  t.same(changed.Items, { value: 'two' }, 'an update replaces all items')
  t.equal(changed.CreateIndex, first.CreateIndex)
  t.equal(changed.CreateTime, first.CreateTime)
  t.ok(changed.ModifyIndex > first.ModifyIndex)
  t.same((await server.ask('GET', '/v1/var/app/db')).json(), changed)

  const deleted = await server.ask('DELETE', '/v1/var/app/db')
  t.equal(deleted.status, 200)
  const { Index } = deleted.json() as { Index: number }
  t.ok(Index > changed.ModifyIndex)

  const absent = await server.ask('GET', '/v1/var/app/db')
  t.equal(absent.status, 404)
  t.equal(absent.body, 'variable not found')
  t.equal(absent.headers['x-service-index'], String(Index), 'an index to block on')

  const again = await server.ask('DELETE', '/v1/var/app/db')
  t.equal(again.status, 200, 'deleting what is absent succeeds')
  t.match(again.json(), { Index: Number })
})

void t.test('check-and-set', async (t) => {
  const server = await serverOfOne(t)
  const put = (query: string, value = 'x') => server.ask('PUT', `/v1/var/a${query}`, items(value))

  const none = await put('?cas=7')
  t.equal(none.status, 409)
  t.same(none.json(), {
    Namespace: 'default',
    Path: 'a',
    CreateIndex: 0,
    CreateTime: 0,
    ModifyIndex: 0,
    ModifyTime: 0,
  })

  const created = (await put('?cas=0', 'one')).json() as Shown
  const taken = await put('?cas=0', 'two')
  t.equal(taken.status, 409)
  t.same(taken.json(), created, 'the conflicting variable with its items')
  t.equal(taken.headers['x-service-index'], String(created.ModifyIndex))

  const second = (await put(`?cas=${created.ModifyIndex}`, 'two')).json() as Shown
  t.equal((await put(`?cas=${created.ModifyIndex}`)).status, 409, 'the old index no longer holds')
  t.equal((await put('?cas=18446744073709551615')).status, 409)
  t.equal((await put('?cas=9007199254740993')).status, 409)

  for (const cas of ['-1', '+1', '%201', '1.0', '0x1', '', 'x', '18446744073709551616']) {
    t.equal((await put(`?cas=${cas}`)).status, 400, `PUT cas=${cas}`)
    t.equal((await server.ask('DELETE', `/v1/var/a?cas=${cas}`)).status, 400, `DELETE cas=${cas}`)
  }

  const kept = await server.ask('DELETE', '/v1/var/a?cas=0')
  t.equal(kept.status, 409, 'DELETE with 0 says it must not exist')
  t.match(kept.json(), { Items: { value: 'two' } })
  t.equal((await server.ask('DELETE', '/v1/var/none?cas=0')).status, 200)
  t.equal((await server.ask('DELETE', '/v1/var/none?cas=3')).status, 409)
  t.equal((await server.ask('DELETE', `/v1/var/a?cas=${second.ModifyIndex}`)).status, 200)
  t.equal((await server.ask('GET', '/v1/var/a')).status, 404)
})

void t.test('a conflict hides the items from whoever may not read them', async (t) => {
  const authorizer: Authorizer = {
    resolve: () => ({
      may: (wanted) => !(wanted.resource === 'variables' && wanted.access === 'read'),
    }),
  }
  const server = await serverOfOne(t, { authorizer })
  await server.ask('PUT', '/v1/var/a', items('hidden'))
  const conflict = await server.ask('PUT', '/v1/var/a?cas=0', items('x'))
  t.equal(conflict.status, 409)
  t.match(conflict.json(), { Path: 'a', ModifyIndex: Number })
  t.notMatch(conflict.body, /Items|hidden/)
  t.equal((await server.ask('GET', '/v1/var/a')).status, 403)
})

void t.test('paths are taken as they are', async (t) => {
  const server = await serverOfOne(t)
  for (const path of ['a', 'a/', 'a//', '/a', 'A', 'a%2Fb', '~-_', 'x'.repeat(128)]) {
    const answer = await server.ask('PUT', `/v1/var/${path}`, items(path))
    t.equal(answer.status, 200, path)
    t.equal((answer.json() as Shown).Path, decodeURIComponent(path))
  }
  for (const path of ['a', 'a/', 'a//', '/a', 'A']) {
    const read = await server.ask('GET', `/v1/var/${path}`)
    t.match(read.json(), { Path: path, Items: { value: path } })
  }
  t.equal(((await server.ask('GET', '/v1/vars')).json() as unknown[]).length, 8)
  for (const path of ['', 'a.b', 'a%20b', 'a%00', 'é', '%C3%A9', 'x'.repeat(129), '*', 'a:b']) {
    for (const method of ['PUT', 'GET', 'DELETE']) {
      const answer = await server.ask(
        method,
        `/v1/var/${path}`,
        method === 'PUT' ? items('x') : undefined,
      )
      t.equal(answer.status, 400, `${method} ${path}`)
    }
  }
})

void t.test('items are a non-empty object of strings of at most 16 KiB', async (t) => {
  const server = await serverOfOne(t)
  const put = (body: unknown) => server.ask('PUT', '/v1/var/a', body)
  const odd = '{"Items":{"__proto__":"p","constructor":"c","":"e","k\\"\\u0000":"\\ud83d\\ude00"}}'
  const written = await put(odd)
  t.equal(written.status, 200)
  const read = await server.ask('GET', '/v1/var/a')
  t.match(read.body, /"__proto__":"p"/)
  t.match(read.body, /"":"e"/)
  t.equal(read.body, written.body)

  t.equal((await put({ Items: { k: 'x'.repeat(16_383) } })).status, 200)
  t.equal((await put({ Items: { k: 'x'.repeat(16_384) } })).status, 400)
  t.equal((await put({ Items: { k: 'é'.repeat(8_191) } })).status, 200)
  t.equal((await put({ Items: { k: 'é'.repeat(8_192) } })).status, 400, 'bytes, not characters')
  t.equal((await put({ Items: { k: '\u0000'.repeat(16_383) } })).status, 200, 'not its escapes')
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [n.toString(36), '']))
  t.equal((await put({ Items: many })).status, 200)

  for (const body of [
    '',
    '[]',
    '"x"',
    '{',
    '{}',
    '{"Items":{}}',
    '{"Items":null}',
    '{"Items":[]}',
  ]) {
    t.equal((await put(body)).status, 400, body)
  }
  for (const value of ['1', 'true', 'null', '{}', '["x"]']) {
    t.equal((await put(`{"Items":{"k":${value}}}`)).status, 400, value)
  }
  const lost = await put('{"Items":{"k":"v","gone":null}}')
  t.equal(lost.status, 400, 'one that would be lost')
  t.match(lost.body, /Items must be an object of strings; its member number 2 is none/)
  for (const name of ['Namespace', 'Path']) {
    t.equal((await put(`{"${name}":5,"Items":{"k":"v"}}`)).status, 400, name)
  }
  const other = await put({ Path: 'other', ModifyIndex: 'x', CreateTime: {}, Items: { k: 'v' } })
  t.match(other.json(), { Path: 'a', ModifyIndex: Number }, 'what servers set is ignored')
})

void t.test('namespaces scope variables', async (t) => {
  const server = await serverOfOne(t)
  t.equal((await server.ask('PUT', '/v1/namespace/prod', {})).status, 200)
  t.equal((await server.ask('PUT', '/v1/var/a?namespace=prod', items('p'))).status, 200)
  t.equal((await server.ask('PUT', '/v1/var/a', items('d'))).status, 200)
  const body = { Namespace: 'prod', ...items('b') }
  t.match((await server.ask('PUT', '/v1/var/b', body)).json(), { Namespace: 'prod' })
  t.match(
    (await server.ask('PUT', '/v1/var/c?namespace=default', body)).json(),
    { Namespace: 'default' },
    'the query goes over the body',
  )
  t.match((await server.ask('GET', '/v1/var/a?namespace=prod')).json(), items('p'))
  t.match((await server.ask('GET', '/v1/var/a')).json(), items('d'))
  const unknown = await server.ask('PUT', '/v1/var/a?namespace=nope', items('x'))
  t.equal(unknown.status, 400)
  t.match(unknown.body, /namespace "nope" does not exist/)
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const payload = method === 'PUT' ? items('x') : undefined
    t.equal((await server.ask(method, '/v1/var/a?namespace=*', payload)).status, 400)
    t.equal((await server.ask(method, '/v1/var/a?namespace=a.b', payload)).status, 400)
  }
  const kept = await server.ask('DELETE', '/v1/namespace/prod')
  t.equal(kept.status, 409)
  t.match(kept.body, /still has variables/)
  const all = (await server.ask('GET', '/v1/vars?namespace=*')).json() as Shown[]
  t.same(
    all.map(({ Namespace, Path }) => `${Namespace}.${Path}`),
    ['default.a', 'default.c', 'prod.a', 'prod.b'],
  )
  await server.ask('DELETE', '/v1/var/a?namespace=prod')
  await server.ask('DELETE', '/v1/var/b?namespace=prod')
  t.equal((await server.ask('DELETE', '/v1/namespace/prod')).status, 200)
})

void t.test('lists: order, prefix, pages and filters', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/namespace/alpha', {})
  const paths = ['b', 'a/2', 'a', 'a/10', 'a/1', 'Z', '~', 'a-1', 'A_', 'a//']
  for (const path of paths) {
    await server.ask('PUT', `/v1/var/${path}`, items(path))
    await server.ask('PUT', `/v1/var/${path}?namespace=alpha`, items(path))
  }
  const ordered = [...paths].sort((l, r) => Buffer.compare(Buffer.from(l), Buffer.from(r)))
  const list = async (query: string) => {
    const answer = await server.ask('GET', `/v1/vars?${query}`)
    t.equal(answer.status, 200, query)
    t.notMatch(answer.body, /Items/)
    const token = answer.headers['x-service-nexttoken']
    return { token, names: (answer.json() as Shown[]).map(({ Path }) => Path) }
  }
  t.same(await list(''), { token: undefined, names: ordered })
  t.same((await list('prefix=a/')).names, ['a//', 'a/1', 'a/10', 'a/2'])
  t.same((await list('prefix=a/&namespace=*')).names.length, 8)
  t.same((await list('prefix=nothing')).names, [])
  t.same((await list('namespace=nowhere')).names, [])

  const page = await list('per_page=3')
  t.same(page, { token: `default.${ordered[3]}`, names: ordered.slice(0, 3) })
  let token: unknown = ''
  const seen: string[] = []
  do {
    const next = await list(
      `namespace=*&per_page=3&next_token=${encodeURIComponent(String(token))}`,
    )
    t.ok(next.names.length <= 3)
    seen.push(...next.names)
    token = next.token
  } while (token !== undefined)
  t.same(seen, [...ordered, ...ordered], 'alpha first, then default')

  await server.ask('DELETE', `/v1/var/${ordered[3]}`)
  t.same(
    (await list(`per_page=2&next_token=${encodeURIComponent(String(page.token))}`)).names,
    ordered.slice(4, 6),
    'a token survives the deletion of its entry',
  )
  t.same((await list('per_page=2&next_token=zzz')).names, [], 'after everything')
  t.same(
    (await list('per_page=2&next_token=alpha.~')).names,
    ordered.slice(0, 2),
    'of a namespace before',
  )
  t.same((await list('per_page=0&next_token=default.b')).names, ['b', '~'])
  t.same((await list('per_page=2&prefix=~')).token, undefined, 'no token after the last')
  for (const query of ['per_page=x', 'per_page=2147483648', 'namespace=a.b']) {
    t.equal((await server.ask('GET', `/v1/vars?${query}`)).status, 400, query)
  }

  const filtered = (filter: string, more = '') =>
    list(`filter=${encodeURIComponent(filter)}${more}`)
  t.same((await filtered('Path matches "^a/[0-9]+$"')).names.length > 0, true)
  t.same((await filtered('Path == b or Path == "Z"')).names, ['Z', 'b'])
  const one = await filtered('Path matches "^a"', '&per_page=1')
  t.same(one.names, ['a'])
  t.match(one.token, /^default\.a./, 'the next entry that matches')
  const [row] = (await server.ask('GET', '/v1/vars?prefix=b')).json() as Shown[]
  const { body } = await server.ask('GET', '/v1/vars?prefix=b')
  const exact = /"ModifyTime":(\d+)/.exec(body)?.[1] ?? ''
  t.same((await filtered(`ModifyTime == ${exact}`, '&prefix=b')).names, ['b'])
  t.same((await filtered(`ModifyTime == ${BigInt(exact) + 1n}`)).names, [])
  t.same((await filtered(`ModifyIndex == ${row?.ModifyIndex}`)).names, ['b'])
  for (const filter of ['Items == x', 'Path = b', 'ModifyIndex == x', 'Path matches "("']) {
    const answer = await server.ask('GET', `/v1/vars?filter=${encodeURIComponent(filter)}`)
    t.equal(answer.status, 400, filter)
  }
})

void t.test('entries that may not be listed are left out', async (t) => {
  const authorizer: Authorizer = {
    resolve: () => ({
      may: (wanted) =>
        !(wanted.resource === 'variables' && wanted.access === 'list' && wanted.path === 'b'),
    }),
  }
  const server = await serverOfOne(t, { authorizer })
  for (const path of ['a', 'b', 'c']) await server.ask('PUT', `/v1/var/${path}`, items(path))
  const all = (await server.ask('GET', '/v1/vars')).json() as Shown[]
  t.same(
    all.map(({ Path }) => Path),
    ['a', 'c'],
  )
  const page = await server.ask('GET', '/v1/vars?per_page=1')
  t.equal(page.headers['x-service-nexttoken'], 'default.c')
})

void t.test('blocking reads wake for their own variable, lists for any', async (t) => {
  const server = await serverOfOne(t)
  const a = (await server.ask('PUT', '/v1/var/a', items('1'))).json() as Shown
  const woken: string[] = []
  const wait = async (name: string, url: string) => {
    const answer = await server.ask('GET', url)
    woken.push(name)
    return answer
  }
  const list = await server.ask('GET', '/v1/vars')
  const listIndex = String(list.headers['x-service-index'])
  const absent = await server.ask('GET', '/v1/var/b')
  const waits = [
    wait('a', `/v1/var/a?index=${a.ModifyIndex}&wait=30s`),
    wait('b', `/v1/var/b?index=${String(absent.headers['x-service-index'])}&wait=30s`),
    wait('list', `/v1/vars?index=${listIndex}&wait=30s`),
    wait('page', `/v1/vars?per_page=10&index=${listIndex}&wait=30s`),
  ] as const
  await eventuallyTrue('all are parked', () => server.machine.watchStats().parked === 4)
  await server.ask('PUT', '/v1/var/b', items('2'))
  await Promise.all([waits[1], waits[2], waits[3]])
  t.same([...woken].sort(), ['b', 'list', 'page'], 'the variable appeared; a stands still')
  t.equal(((await waits[2]).json() as unknown[]).length, 2)
  await server.ask('DELETE', '/v1/var/a')
  const gone = await waits[0]
  t.equal(gone.status, 404)
  t.ok(Number(gone.headers['x-service-index']) > a.ModifyIndex)
})

void t.test('without a keyring a write fails rather than stores plain text', async (t) => {
  const server = await serverOfOne(t, { begin: false, requestClock: hastyClock(50) })
  const { appliedIndex } = server.machine
  const answer = await server.ask('PUT', '/v1/var/a', items('x'))
  t.equal(answer.status, 503)
  t.match(answer.body, /keyring .* is not ready/)
  t.equal(server.machine.appliedIndex, appliedIndex)
})
