/** Which methods the token endpoints have, and what others are told. */
import t from 'tap'
import { started } from './started.ts'

void t.test('a path that exists answers 405 to a method that it does not have', async (t) => {
  const { server, root } = await started(t)
  const posted = 'POST, PUT'
  for (const [path, methods, allowed] of [
    ['create', ['GET', 'LIST', 'DELETE'], posted],
    ['create-orphan', ['GET', 'DELETE'], posted],
    ['create/ci', ['GET', 'LIST', 'DELETE'], posted],
    ['lookup', ['LIST', 'DELETE'], 'GET, HEAD, POST, PUT'],
    ['lookup/', ['DELETE'], 'GET, HEAD, POST, PUT'],
    ['lookup-accessor', ['GET'], posted],
    ['renew-self', ['GET'], posted],
    ['revoke-self', ['GET'], posted],
    ['lookup-self', ['LIST', 'DELETE'], 'GET, HEAD, POST, PUT'],
    ['accessors', ['GET', 'POST', 'PUT'], 'LIST'],
    ['roles', ['GET', 'POST', 'DELETE'], 'LIST'],
    ['roles/ci', ['LIST'], 'DELETE, GET, HEAD, POST, PUT'],
  ] as const) {
    for (const method of methods) {
      const answer = await server.ask(method, `/v1/auth/token/${path}`, undefined, root)
      t.equal(answer.status, 405, `${method} ${path}`)
      t.same(answer.json(), { errors: [] })
      t.equal(answer.headers['allow'], allowed, `${method} ${path}`)
    }
  }
  for (const method of ['GET', 'POST', 'DELETE', 'LIST']) {
    const answer = await server.ask(method, '/v1/auth/token/none', undefined, root)
    t.equal(answer.status, 404, method)
    const errors = method === 'POST' ? ['the token endpoints have no such path'] : []
    t.same(answer.json(), { errors })
  }
})
