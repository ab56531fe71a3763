import t from 'tap'
import { outOfScope, outOfScopeAreas } from '../../src/api/out-of-scope.ts'
import type { Route } from '../../src/api/route.ts'
import { apiFake } from '../support/api-fake.ts'

const served: Route = {
  method: 'GET',
  path: '/v1/query/served',
  handle: () => ({ text: 'served' }),
}
const { app } = apiFake({ routes: [served] }).http

t.test('every method on an area that is not served gets 501 and its sentence', async (t) => {
  for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
    for (const url of ['/v1/query', '/v1/query/x/execute?near=_agent', '/v1/jobs', '/ui/']) {
      const reply = await app.inject({ method, url })
      t.equal(reply.statusCode, 501, `${method} ${url}`)
      t.match(reply.body, /not served/)
      t.match(reply.headers['content-type'], /^text\/plain/)
    }
  }
})

t.test("Vault's areas get the sentence in the shape that its clients parse", async (t) => {
  for (const url of ['/v1/sys/seal', '/v1/sys/host-info', '/v1/secret/data/app']) {
    const reply = await app.inject(url)
    t.equal(reply.statusCode, 501, url)
    t.equal(reply.headers['content-type'], 'application/json')
    t.match(reply.json(), { errors: [/not served/] })
  }
})

t.test('what Vault does not have either is 404 below sys and auth', async (t) => {
  for (const path of ['sys', 'sys/', 'sys/nix', 'sys/seal-status/x', 'auth', 'auth/', 'auth/nix']) {
    const reply = await app.inject(`/v1/${path}`)
    t.equal(reply.statusCode, 404, path)
    t.same(reply.json(), { errors: [] })
  }
  t.match(outOfScope('/v1/sys/seal')?.reason, /never sealed/)
  t.notMatch(outOfScope('/v1/sys/host-info')?.reason, /sealed/)
})

t.test('a route in such an area answers, and its other methods are 405', async (t) => {
  t.equal((await app.inject('/v1/query/served')).body, 'served')
  t.equal((await app.inject({ method: 'PUT', url: '/v1/query/served' })).statusCode, 405)
})

t.test('an area ends with its segment', (t) => {
  for (const path of ['/v1/queryx', '/v1', '/v1/', '/', '', '/v2/query', '/v1/Query', 'v1/query']) {
    t.equal(outOfScope(path), null, path)
  }
  t.end()
})

t.test('the narrowest area decides, however long the path is', (t) => {
  t.match(outOfScope('/v1/node/pools')?.reason, /node pools/)
  t.equal(outOfScope('/v1/node/x'), null)
  t.match(outOfScope(`/v1/agent/connect/${'x/'.repeat(10_000)}`)?.reason, /mesh/)
  t.equal(outOfScope('/v1/agent/nothing'), null)
  t.end()
})

t.test('no path stands in two rows, and every reason is one sentence', (t) => {
  const paths = outOfScopeAreas.flatMap((area) => area.paths)
  t.equal(new Set(paths).size, paths.length)
  for (const { reason } of outOfScopeAreas) t.notMatch(reason, /\. |\.$|\n/)
  for (const path of paths) t.match(path, /^\/(api|debug|ui|\.well-known|v1(\/[a-z-]+){1,3})$/)
  t.end()
})
