/** Which of several routes that fit a path serves it. */
import t from 'tap'
import { probe } from '../../src/api/probe.ts'
import type { Route } from '../../src/api/route.ts'
import { RouteTable } from '../../src/api/route-table.ts'
import { apiFake } from '../support/api-fake.ts'
import fc from '../support/fast-check.ts'

const named = (path: string, method: Route['method'] = 'GET'): Route => ({
  method,
  path,
  handle: () => ({ text: `${method} ${path}` }),
})

async function served(routes: readonly Route[], path: string, method: 'GET' | 'PUT' = 'GET') {
  const { http } = apiFake({ routes })
  const { statusCode, body } = await http.app.inject({ method, url: path })
  await http.stop(0)
  return statusCode === 200 ? body : statusCode
}

const mounts = [
  named('/v1/auth/*'),
  named('/v1/auth/:mount/login'),
  named('/v1/auth/:mount/users/*'),
  named('/v1/auth/token/*'),
  named('/v1/auth/token/lookup'),
  named('/v1/auth/token/config', 'PUT'),
  named('/v1/auth/:mount/names', 'LIST'),
]

t.test('a segment goes before a parameter, and a parameter before a tail', async (t) => {
  const rows = [
    ['/v1/auth/', 404],
    ['/v1/auth/ldap', 'GET /v1/auth/*'],
    ['/v1/auth/ldap/login', 'GET /v1/auth/:mount/login'],
    ['/v1/auth/ldap/login/a', 'GET /v1/auth/*'],
    ['/v1/auth/ldap/users/a/b', 'GET /v1/auth/:mount/users/*'],
    ['/v1/auth/a/b/login', 'GET /v1/auth/*'],
    ['/v1/auth/token', 'GET /v1/auth/*'],
    ['/v1/auth/token/login', 'GET /v1/auth/token/*'],
    ['/v1/auth/token/lookup', 'GET /v1/auth/token/lookup'],
    ['/v1/auth/token/lookup-self', 'GET /v1/auth/token/*'],
    ['/v1/auth/token/look%75p', 'GET /v1/auth/token/lookup'],
    ['/v1/auth/token/config', 'GET /v1/auth/token/*'],
    ['/v1/auth/ldap/names', 'GET /v1/auth/*'],
    ['/v1/auth/ldap/names?list=true', 'LIST /v1/auth/:mount/names'],
    ['/v1/auth/a/b/names?list=true', 'GET /v1/auth/*'],
    ['/v1/aut', 404],
  ] as const
  for (const [path, expected] of rows) t.equal(await served(mounts, path), expected, path)
  t.equal(await served(mounts, '/v1/auth/token/config', 'PUT'), 'PUT /v1/auth/token/config')
  t.equal(await served(mounts, '/v1/auth/token/lookup', 'PUT'), 405)
})

t.test('segments are decoded one by one', (t) => {
  const table = new RouteTable([...mounts, named('/v1/node/:id/drain', 'PUT')])
  const idOf = (path: string) => table.find('POST', path, 'nomad')?.parameters['id']
  t.equal(idOf('/v1/node/a%2Fb/drain'), 'a/b', 'a slash that is written out ends no segment')
  t.equal(idOf('/v1/n%6fde/%C3%BC%25/dra%69n'), '\u00fc%')
  t.equal(idOf('/v1/node/__proto__/drain'), '__proto__')
  t.equal(idOf('/v1/node//drain'), '', 'the route says that it is missing')
  t.equal(idOf('/v1/node/a/drain/'), undefined)
  t.throws(() => table.find('GET', '/v1/auth/%zz', 'nomad'), { code: 'invalid_argument' })
  t.throws(() => table.methodsOf('/v1/auth/%ff', 'nomad'), { code: 'invalid_argument' })
  t.same(table.methodsOf('/v1/node/a%2Fb/drain', 'nomad'), ['POST', 'PUT'])
  t.same(table.methodsOf('/v1/auth/token/names', 'nomad'), ['GET', 'HEAD', 'LIST'])
  t.end()
})

const segment = fc.constantFrom('a', 'b')
const pattern = fc
  .tuple(
    fc.array(fc.oneof(segment, fc.constantFrom(':one', ':two')), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  // A name stands once in a path.
  .map(([parts, open]) => {
    const path = parts.map((part, at) => (part.startsWith(':') ? `:p${at}` : part)).join('/')
    return `/v9/${path}${open ? '/*' : ''}`
  })

/** Written anew here: as text, `0` for what is written out sorts before `1` and `2`. */
function expectedFor(paths: readonly string[], path: string): string | 404 {
  const given = path.split('/')
  const rank = (own: string) =>
    own
      .split('/')
      .map((part) => (part === '*' ? 2 : part.startsWith(':') ? 1 : 0))
      .join('')
  const [best] = paths
    .filter((own) => {
      const parts = own.split('/')
      const open = parts.at(-1) === '*'
      return (
        (open ? given.length >= parts.length : given.length === parts.length) &&
        parts.every((part, at) => part === '*' || part.startsWith(':') || part === given[at])
      )
    })
    .toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1))
  return best === undefined ? 404 : `GET ${best}`
}

t.test('whatever routes there are; an explanation finds the same one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(pattern, { minLength: 1, maxLength: 8 }),
      fc.array(fc.array(segment, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      async (paths, wanted) => {
        const routes = paths.map((path) => named(path))
        const { http } = apiFake({ routes })
        for (const parts of wanted) {
          const url = `/v9/${parts.join('/')}`
          const { statusCode, body } = await http.app.inject({ url })
          const found = statusCode === 200 ? body : 404
          const request = { method: 'GET', url, body: new Uint8Array() }
          const probed = await probe(new RouteTable(routes), request, () => {
            throw new Error('no services')
          }).catch(() => null)
          const explained = probed === null ? 404 : `GET ${probed.route.path}`
          const expected = expectedFor(paths, url)
          if (found !== expected || explained !== expected) {
            throw new Error(`${url}: ${found}, explained as ${explained}, not ${expected}`)
          }
        }
        await http.stop(0)
      },
    ),
    { numRuns: 60 },
  )
})
