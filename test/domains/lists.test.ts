/** What every list has in common: pages that add up to the whole, a prefix, a filter. */
import t, { type Test } from 'tap'
import { serverOfOne } from './server-of-one.ts'

const count = 7

async function filled(t: Test) {
  const server = await serverOfOne(t)
  const put = async (url: string, body: object) => {
    const { status } = await server.ask('PUT', url, body)
    t.equal(status, 200, url)
  }
  for (let at = 0; at < count; at += 1) {
    // In an order of their own, in scripts that sort differently as UTF-16 and as UTF-8.
    const name = ['b', 'a', 'a-x', 'a.y', 'ｚ', '𝒜', 'Ab'][at] ?? ''
    await put(`/v1/namespace/n${at}`, { Description: `number ${at}` })
    await put('/v1/catalog/register', {
      Node: `node ${name}`,
      Address: '10.0.0.1',
      Service: { ID: `web/${name}`, Service: 'web', Tags: [`t${at}`] },
      Checks: [
        { CheckID: `check ${name}`, Name: 'c', ServiceID: `web/${name}`, Status: 'passing' },
      ],
    })
    await put('/v1/catalog/register', {
      Node: 'node many',
      Address: '10.0.0.2',
      Service: { ID: `s${at}`, Service: `service ${name}` },
      Check: { CheckID: `of many ${name}`, Name: 'c', Status: 'critical' },
    })
    await put('/v1/session/create', { Node: 'node many', Name: `s${at}`, Checks: [] })
    await put(`/v1/var/app/${at}`, { Items: { a: 'b' } })
  }
  return server
}

const lists = [
  ['/v1/namespaces', 'n1', 'Description == "number 3"'],
  ['/v1/catalog/nodes', 'NODE A', 'Node == "node many"'],
  ['/v1/catalog/services', 'service a', 'ServiceName contains "b"'],
  ['/v1/catalog/service/web', 'node a', 'ServiceTags contains t2'],
  ['/v1/health/node/node%20many', 'of many a', 'CheckID == "of many b"'],
  ['/v1/health/checks/web', 'check a', 'Node == "node b"'],
  ['/v1/health/state/any', 'of many', 'Status == critical'],
  ['/v1/health/state/critical', 'of many a', 'CheckID == "of many b"'],
  ['/v1/health/service/web', 'node a', 'Service.Tags contains t2'],
  ['/v1/session/list', '', 'Name == s2'],
  ['/v1/session/node/node%20many', '', 'Name == s2'],
  ['/v1/vars', 'app/1', 'Path == "app/2"'],
] as const

function rowsOf(body: unknown): readonly string[] {
  return (Array.isArray(body) ? body : Object.entries(body ?? {})).map((row) => JSON.stringify(row))
}

t.test('pages add up to the whole list, in its order; prefix and filter leave out', async (t) => {
  const server = await filled(t)
  for (const [path, prefix, filter] of lists) {
    const get = async (query: Readonly<Record<string, string>>) => {
      const answer = await server.ask('GET', `${path}?${new URLSearchParams(query).toString()}`)
      t.equal(answer.status, 200, `${path} ${JSON.stringify(query)} ${answer.body.slice(0, 200)}`)
      return { rows: rowsOf(answer.json()), next: answer.headers['x-service-nexttoken'] }
    }
    const whole = await get({})
    t.ok(whole.rows.length >= count, path)
    t.equal(whole.next, undefined)
    for (const size of [1, 3, count * 3]) {
      const found: string[] = []
      let page = await get({ per_page: String(size) })
      found.push(...page.rows)
      while (typeof page.next === 'string') {
        t.equal(page.rows.length, size)
        page = await get({ per_page: String(size), next_token: page.next })
        found.push(...page.rows)
      }
      // Names of services come in the order of their first instance when the list is whole.
      const isMap = path === '/v1/catalog/services'
      t.same(isMap ? found.toSorted() : found, isMap ? whole.rows.toSorted() : whole.rows, path)
    }
    const few = await get({ filter })
    t.ok(few.rows.length > 0 && few.rows.length < whole.rows.length, `${path} ${filter}`)
    if (prefix === '') continue
    const begun = await get({ prefix })
    t.ok(begun.rows.length > 0 && begun.rows.length < whole.rows.length, `${path} ${prefix}`)
  }
  const [first = ''] = rowsOf((await server.ask('GET', '/v1/session/list')).json())
  const { ID } = JSON.parse(first) as { ID: string }
  const one = await server.ask('GET', `/v1/session/list?prefix=${ID}`)
  t.equal(rowsOf(one.json()).length, 1)
})

t.test('what is no page is refused', async (t) => {
  const server = await serverOfOne(t)
  const refused = ['per_page=x', 'per_page=2&next_token=%25zz', 'filter=(']
  for (const query of refused) {
    const { status } = await server.ask('GET', `/v1/catalog/nodes?${query}`)
    t.equal(status, 400, query)
  }
})

const names = ['Ab', 'a-x', 'a.y', 'b', 'c1', 'c2', 'c3']

async function withNames(t: Test) {
  const server = await serverOfOne(t, {
    acl: { enabled: true, defaultPolicy: 'deny' },
    begin: false,
  })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  const ask = (method: string, url: string, body?: object) => server.ask(method, url, body, root)
  const post = async (url: string, body: object) => {
    const { status, body: text } = await ask('POST', url, body)
    t.ok(status === 200 || status === 204, `${url} ${status} ${text}`)
  }
  for (const name of names) {
    await post(`/v1/auth/token/roles/${name}`, {})
    await post(`/v1/auth/ldap/groups/${name}`, { policies: 'p' })
    await post(`/v1/auth/ldap/users/${name}`, { policies: 'p' })
    const bound = { bound_service_account_names: ['*'], bound_service_account_namespaces: ['*'] }
    await post(`/v1/auth/orchestrator/role/${name}`, { ...bound, audience: 'muster' })
    await post('/v1/auth/token/create', { policies: 'p' })
  }
  return ask
}

t.test('lists of names have the same pages, prefix and filter', async (t) => {
  const ask = await withNames(t)
  const lists = [
    '/v1/auth/token/roles',
    '/v1/auth/token/accessors',
    '/v1/auth/ldap/groups',
    '/v1/auth/ldap/users',
    '/v1/auth/orchestrator/role',
  ]
  for (const path of lists) {
    const get = async (query: Readonly<Record<string, string>>) => {
      const answer = await ask('LIST', `${path}?${new URLSearchParams(query).toString()}`)
      t.equal(answer.status, 200, `${path} ${JSON.stringify(query)} ${answer.body.slice(0, 200)}`)
      const { data } = answer.json() as { readonly data: { readonly keys: readonly string[] } }
      return { keys: data.keys, next: answer.headers['x-service-nexttoken'] }
    }
    const whole = await get({})
    t.equal(whole.next, undefined)
    t.ok(whole.keys.length >= names.length, path)
    for (const size of [1, 3]) {
      const found: string[] = []
      let page = await get({ per_page: String(size) })
      found.push(...page.keys)
      while (typeof page.next === 'string') {
        t.equal(page.keys.length, size)
        page = await get({ per_page: String(size), next_token: page.next })
        found.push(...page.keys)
      }
      t.same(found, whole.keys, path)
    }
    const [first = ''] = whole.keys
    t.same((await get({ prefix: first })).keys, [first])
    t.same((await get({ filter: `Name == "${first}"` })).keys, [first])
    t.equal((await ask('LIST', `${path}?prefix=nothing`)).status, 404)
    t.equal((await ask('LIST', `${path}?filter=(`)).status, 400)
  }
})

t.test('keys below a prefix come in pages too, whole and as names', async (t) => {
  const server = await serverOfOne(t)
  const keys = ['a', 'a/x/1', 'a/x/2', 'a/y', 'a/z/1', 'a/z/2', 'ａ', '𝒜']
  for (const key of keys) {
    const { status } = await server.ask('PUT', `/v1/kv/${encodeURIComponent(key)}?flags=7`, key)
    t.equal(status, 200)
  }
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['/v1/kv/?recurse', keys],
    ['/v1/kv/?keys', keys],
    ['/v1/kv/a/?recurse', keys.slice(1, 6)],
    ['/v1/kv/a/?keys&separator=/', ['a/x/', 'a/y', 'a/z/']],
  ]
  for (const [url, whole] of lists) {
    const get = async (query: string) => {
      const { status, headers, ...answer } = await server.ask('GET', `${url}&${query}`)
      t.equal(status, 200, `${url}&${query}`)
      const rows = answer.json() as readonly (string | { readonly Key: string })[]
      return {
        names: rows.map((row) => (typeof row === 'string' ? row : row.Key)),
        next: headers['x-service-nexttoken'],
        index: headers['x-service-index'],
      }
    }
    const all = await get('')
    t.same(all.names, whole, url)
    for (const size of [1, 2, whole.length]) {
      const found: string[] = []
      let page = await get(`per_page=${size}`)
      found.push(...page.names)
      while (typeof page.next === 'string') {
        t.equal(page.names.length, size)
        page = await get(`per_page=${size}&next_token=${encodeURIComponent(page.next)}`)
        t.equal(page.index, all.index, 'a page has the index of the prefix')
        found.push(...page.names)
      }
      t.same(found, whole, `${url} by ${size}`)
    }
    const filter = encodeURIComponent('Key contains "y" and Flags == 7')
    t.same((await get(`filter=${filter}`)).names, ['a/y'])
  }
  t.equal((await server.ask('GET', '/v1/kv/a/?recurse&filter=(')).status, 400)
})

t.test('locked names are a list like others', async (t) => {
  const server = await serverOfOne(t)
  for (const [at, name] of ['ada', 'bob', 'ben', 'eve'].entries()) {
    const lock = { mountId: 'first-ldap', name, nowMs: 1, untilMs: at < 3 ? 4_000_000_000_000 : 2 }
    await server.propose({ type: 'logins.lock', args: lock })
  }
  const get = async (query: string) => {
    const answer = await server.ask('GET', `/v1/sys/locked-users?${query}`)
    t.equal(answer.status, 200, answer.body)
    const { data } = answer.json() as {
      readonly data: { readonly total: number; readonly locked: readonly { alias: string }[] }
    }
    t.equal(data.total, data.locked.length)
    const next = answer.headers['x-service-nexttoken']
    return { names: data.locked.map(({ alias }) => alias), next }
  }
  t.same((await get('')).names, ['ada', 'ben', 'bob'])
  const first = await get('per_page=2')
  t.same(first.names, ['ada', 'ben'])
  const second = await get(`per_page=2&next_token=${String(first.next)}`)
  t.same(second, { names: ['bob'], next: undefined })
  t.same((await get('prefix=b')).names, ['ben', 'bob'])
  t.same((await get('filter=alias%20matches%20%22a%22')).names, ['ada'])
  t.same((await get('filter=mount_path%20%21%3D%20%22auth/ldap/%22')).names, [])
})
