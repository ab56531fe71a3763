import t from 'tap'
import type { Route } from '../../src/api/route.ts'
import { errorCodes, MusterError, type ErrorCode } from '../../src/lib/errors.ts'
import { apiFake } from '../support/api-fake.ts'

const echo: Route = {
  method: 'POST',
  path: '/v1/echo/:name',
  handle: (request) => ({
    json: {
      name: request.parameter('name'),
      json: request.json ?? null,
      token: request.token,
      namespace: request.namespace,
    },
  }),
}

const fails: Route = {
  method: 'GET',
  path: '/v1/fails/:code',
  handle(request) {
    const code = request.parameter('code')
    if (code === 'defect') throw new TypeError('secret inside')
    throw new MusterError(code as ErrorCode, `text of\r\n${code}`)
  },
}

const failsAsSecrets: Route = { ...fails, path: '/v1/sys/fails/:code' }

const here: Route = {
  method: 'GET',
  path: '/v1/here',
  anyRegion: true,
  handle: () => ({ text: 'here' }),
}

const fake = apiFake({ routes: [echo, fails, failsAsSecrets, here] })
const { app } = fake.http
fake.state.put('a/b', { n: 1 })

t.test('a read carries index, leader and contact under every alias', async (t) => {
  const reply = await app.inject({ url: '/v1/row/a/b' })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['content-type'], 'application/json')
  t.same(reply.json(), { key: 'a/b', value: { n: 1 }, index: 1 })
  for (const prefix of ['service', 'consul', 'nomad', 'vault']) {
    t.equal(reply.headers[`x-${prefix}-index`], '1')
    t.equal(reply.headers[`x-${prefix}-knownleader`], 'true')
    t.equal(reply.headers[`x-${prefix}-lastcontact`], '0')
  }
})

t.test('below /v1/auth and /v1/sys only clients of Vault find theirs', async (t) => {
  const { http } = apiFake({
    routes: [{ ...here, path: '/v1/sys/here', handle: () => ({ index: 7, json: 1 }) }],
  })
  const { headers } = await http.app.inject({ url: '/v1/sys/here' })
  t.same(
    Object.keys(headers).filter((name) => name.endsWith('-index')),
    ['x-service-index', 'x-vault-index'],
  )
  await http.stop(0)
})

t.test(
  'another region is refused, on every route that is not about this server alone',
  async (t) => {
    for (const [url, status] of [
      ['/v1/row/a/b?region=global', 200],
      ['/v1/row/a/b?region=', 200],
      ['/v1/row/a/b?region=elsewhere', 500],
      ['/v1/row/a/b?x=%', 400],
      ['/v1/here?region=elsewhere', 200],
      ['/v1/nowhere?region=elsewhere', 404],
    ] as const) {
      const reply = await app.inject({ url })
      t.equal(reply.statusCode, status, url)
      if (status === 500) t.equal(reply.body, 'No path to region')
    }
  },
)

t.test('aliases are a matter of configuration', async (t) => {
  const plain = apiFake({ http: { aliases: ['X-Consul-'] } })
  const reply = await plain.http.app.inject({ url: '/v1/row/a' })
  t.same(
    Object.keys(reply.headers).filter((name) => name.endsWith('-index')),
    ['x-service-index', 'x-consul-index'],
  )
  await plain.http.stop()
})

t.test('an absent row is 404 with an index to block on', async (t) => {
  const reply = await app.inject({ url: '/v1/row/none' })
  t.equal(reply.statusCode, 404)
  t.equal(reply.headers['content-type'], 'text/plain; charset=utf-8')
  t.equal(reply.body, 'row not found')
  t.equal(reply.headers['x-service-index'], '1')
})

t.test('a write carries its index and nothing of a read', async (t) => {
  const reply = await app.inject({ method: 'PUT', url: '/v1/row/w', payload: '{"Value":1}' })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['x-service-index'], '2')
  t.notOk('x-service-knownleader' in reply.headers)
})

t.test('stale shows the contact as it is', async (t) => {
  fake.consensus.contactMs = 17.9
  t.equal((await app.inject('/v1/row/a?stale')).headers['x-service-lastcontact'], '17')
  t.equal((await app.inject('/v1/row/a')).headers['x-service-lastcontact'], '0')
  fake.consensus.contactMs = 0
})

t.test('PUT and POST are one, HEAD is GET without the body', async (t) => {
  for (const method of ['PUT', 'POST'] as const) {
    const reply = await app.inject({ method, url: '/v1/echo/x', payload: '{}' })
    t.equal(reply.statusCode, 200, method)
  }
  const head = await app.inject({ method: 'HEAD', url: '/v1/row/a/b' })
  const get = await app.inject({ method: 'GET', url: '/v1/row/a/b' })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
  t.equal(head.headers['content-length'], get.headers['content-length'])
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/rows' })).body, '')
})

t.test(
  'unknown paths are 404 with one line of text, other methods 405 with what is allowed',
  async (t) => {
    for (const url of ['/', '/v1', '/v1/nope', '/v1/rows/', '/v2/rows', '/v1/Rows']) {
      const reply = await app.inject(url)
      t.equal(reply.statusCode, 404, url)
      t.equal(reply.body, 'no such path: the HTTP API has no route for it', url)
    }
    t.equal((await app.inject({ method: 'HEAD', url: '/v1/nope' })).body, '')
    const wrong = await app.inject({ method: 'DELETE', url: '/v1/row/a/b', payload: 'x' })
    t.equal(wrong.statusCode, 405)
    t.equal(wrong.body, 'Invalid method')
    t.equal(wrong.headers['allow'], 'GET, HEAD, POST, PUT')
    t.equal((await app.inject({ method: 'GET', url: '/v1/echo/x' })).headers['allow'], 'POST, PUT')
    t.equal((await app.inject({ method: 'OPTIONS', url: '/v1/rows' })).statusCode, 405)
    t.equal((await app.inject({ method: 'PATCH', url: '/nope', payload: 'x' })).statusCode, 404)
  },
)

t.test('below the secrets service, errors are JSON', async (t) => {
  const missing = await app.inject('/v1/sys/seal')
  t.equal(missing.statusCode, 501)
  t.equal(missing.headers['content-type'], 'application/json')
  t.match(missing.json(), { errors: [/not served/] })
  const wrong = await app.inject({ method: 'DELETE', url: '/v1/sys/fails/x' })
  t.equal(wrong.statusCode, 405)
  t.same(wrong.json(), { errors: [] })
  for (const url of ['/v1/sys', '/v1/sys/', '/v1/auth', '/v1/auth/', '/v1/sys/nope']) {
    const unknown = await app.inject(url)
    t.equal(unknown.statusCode, 404, url)
    t.same(unknown.json(), { errors: [] }, url)
    t.equal(unknown.headers['cache-control'], 'no-store', url)
  }
  t.equal((await app.inject('/v1/author')).headers['content-type'], 'text/plain; charset=utf-8')
  for (const path of ['/v1/sys', '/v1/%73ys', '/%76%31/s%79s']) {
    const refused = await app.inject(`${path}/fails/permission_denied`)
    t.equal(refused.statusCode, 403)
    t.same(refused.json(), { errors: ['permission denied'] }, 'whatever was wrong with the token')
    t.equal(refused.headers['content-type'], 'application/json')
    t.equal(refused.headers['cache-control'], 'no-store')
    t.match((await app.inject(`${path}/fails/%zz`)).json(), { errors: [/percent escape/] }, path)
  }
})

t.test('each code has its status, and its text on one line', async (t) => {
  const expected: Record<ErrorCode, number> = {
    invalid_argument: 400,
    unauthenticated: 403,
    permission_denied: 403,
    not_found: 404,
    gone: 410,
    method_not_allowed: 405,
    conflict: 409,
    too_large: 413,
    not_leader: 500,
    no_leader: 500,
    overloaded: 503,
    rate_limited: 429,
    outcome_unknown: 500,
    timeout: 504,
    unavailable: 503,
    cancelled: 503,
    not_implemented: 501,
    incompatible: 500,
    corrupt: 500,
    internal: 500,
  }
  for (const code of Object.keys(errorCodes) as ErrorCode[]) {
    const reply = await app.inject(`/v1/fails/${code}`)
    t.equal(reply.statusCode, expected[code], code)
    t.equal(reply.headers['content-type'], 'text/plain; charset=utf-8')
    t.equal(reply.headers['retry-after'], [429, 503].includes(expected[code]) ? '1' : undefined)
    // The log has a refusal under the request's id.
    const suffix =
      expected[code] === 403 ? `, request ${String(reply.headers['x-request-id'])}` : ''
    if (code !== 'internal') t.equal(reply.body, `text of ${code}${suffix}`)
  }
})

t.test('a defect shows its request and nothing else', async (t) => {
  for (const code of ['internal', 'defect']) {
    const reply = await app.inject(`/v1/fails/${code}`)
    t.equal(reply.statusCode, 500)
    t.match(reply.body, /^internal error, request [0-9a-f]+-[0-9a-z]+$/)
  }
})

t.test('the token is read under every name', async (t) => {
  const cases: readonly (readonly [Record<string, string>, string | null])[] = [
    [{}, null],
    [{ 'x-service-token': 's' }, 's'],
    [{ 'X-Consul-Token': 'c' }, 'c'],
    [{ 'X-Nomad-Token': 'n' }, 'n'],
    [{ 'X-Vault-Token': 'v' }, 'v'],
    [{ authorization: 'Bearer b' }, 'b'],
    [{ authorization: 'bearer   b ' }, 'b'],
    [{ authorization: 'Basic b' }, null],
    [{ 'x-service-token': '', authorization: 'Bearer b' }, 'b'],
    [{ 'x-service-token': 's', 'x-vault-token': 'v' }, 's'],
  ]
  for (const [headers, token] of cases) {
    const reply = await app.inject({ method: 'PUT', url: '/v1/echo/x', headers, payload: '{}' })
    t.equal(reply.json<{ token: string | null }>().token, token, JSON.stringify(headers))
  }
})

t.test('the content type of a body is never looked at', async (t) => {
  const types = [
    '',
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'what/',
    ';;',
  ]
  for (const type of types) {
    const reply = await app.inject({
      method: 'PUT',
      url: '/v1/echo/x',
      headers: type === '' ? {} : { 'content-type': type },
      payload: '{"a":1}',
    })
    t.equal(reply.statusCode, 200, type)
    t.same(reply.json<{ json: unknown }>().json, { a: 1 })
  }
})

t.test('bodies that are no JSON are refused without being shown', async (t) => {
  const deep = '['.repeat(101) + ']'.repeat(101)
  const cases: readonly (readonly [name: string, body: string | Buffer, text: RegExp])[] = [
    ['half', '{"password":"hunter2"', /^the request body is not valid JSON$/],
    ['trailing', '{} x', /not valid JSON/],
    ['two values', '{}{}', /not valid JSON/],
    ['single quotes', "{'a':1}", /not valid JSON/],
    ['bad UTF-8', Buffer.from([0x22, 0xff, 0x22]), /not valid UTF-8/],
    ['deep', deep, /nested deeper than 100/],
    ['deep objects', '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000), /nested deeper/],
  ]
  for (const [name, payload, text] of cases) {
    const reply = await app.inject({ method: 'PUT', url: '/v1/echo/x', payload })
    t.equal(reply.statusCode, 400, name)
    t.match(reply.body, text, name)
  }
  const flat = JSON.stringify({ a: '['.repeat(5_000), b: '\\"[' })
  t.equal((await app.inject({ method: 'PUT', url: '/v1/echo/x', payload: flat })).statusCode, 200)
})

t.test('an empty body is absent, `null` is no object, `__proto__` is a name', async (t) => {
  const empty = await app.inject({ method: 'PUT', url: '/v1/row/x' })
  t.equal(empty.statusCode, 400)
  t.match(empty.body, /body is empty/)
  const none = await app.inject({ method: 'PUT', url: '/v1/row/x', payload: 'null' })
  t.equal(none.statusCode, 400)
  t.match(none.body, /must be a JSON object/)
  const payload = '{"Value":{"__proto__":{"admin":true},"constructor":1}}'
  await app.inject({ method: 'PUT', url: '/v1/row/proto', payload })
  const { body } = await app.inject('/v1/row/proto')
  t.match(body, /"value":\{"__proto__":\{"admin":true\},"constructor":1\}/)
  t.notOk('admin' in {})
})

t.test('a wildcard keeps the path as it was sent, decoded once', async (t) => {
  const names: readonly (readonly [sent: string, name: string])[] = [
    ['a/b/c', 'a/b/c'],
    ['a%2Fb', 'a/b'],
    ['a//b', 'a//b'],
    ['a/', 'a/'],
    ['a//', 'a//'],
    ['a%252Fb', 'a%2Fb'],
    ['A%20b', 'A b'],
    ['%C3%A4', 'ä'],
    ['a;b=c', 'a;b=c'],
    ['a+b', 'a+b'],
    ['a%3Fb', 'a?b'],
    ['..%2f..', '../..'],
  ]
  for (const [sent, name] of names) {
    const payload = JSON.stringify({ Value: name })
    const put = await app.inject({ method: 'PUT', url: `/v1/row/${sent}`, payload })
    t.equal(put.statusCode, 200, sent)
    const got = await app.inject(`/v1/row/${sent}`)
    t.match(got.json(), { key: name, value: name }, sent)
  }
})

t.test('paths that cannot be text are 400', async (t) => {
  for (const bad of ['a%', 'a%zz', '%ff', '%c3%28', 'a%00b', 'a%1fb', 'a%7fb', '%0d%0ax']) {
    const reply = await app.inject(`/v1/row/${bad}`)
    t.equal(reply.statusCode, 400, bad)
    t.match(reply.body, /^the path has /)
  }
  t.equal((await app.inject('/v1/rows?prefix=%')).statusCode, 400)
  t.equal((await app.inject('/v1/%')).statusCode, 400)
})

t.test('`pretty` indents by four', async (t) => {
  const index = fake.state.put('pretty', { n: 1 })
  for (const query of ['pretty', 'pretty=', 'pretty=1', 'pretty=true']) {
    const reply = await app.inject(`/v1/row/pretty?${query}`)
    t.equal(
      reply.body,
      `{\n    "key": "pretty",\n    "value": {\n        "n": 1\n    },\n    "index": ${index}\n}\n`,
    )
  }
  t.notMatch((await app.inject('/v1/row/pretty?pretty=false')).body, /\n/)
})

t.test('the namespace is that of the query', async (t) => {
  const ask = async (query: string) => {
    const reply = await app.inject({ method: 'PUT', url: `/v1/echo/x?${query}`, payload: '{}' })
    return reply.json<{ namespace: string | null }>().namespace
  }
  t.equal(await ask(''), null)
  t.equal(await ask('namespace='), null)
  t.equal(await ask('namespace=a%20b&namespace=c'), 'a b')
})

t.test('two routes for the same method and path are a defect', async (t) => {
  t.throws(() => apiFake({ routes: [echo, { ...echo, method: 'PUT' }] }), /two routes serve/)
})

t.teardown(() => fake.http.stop())
