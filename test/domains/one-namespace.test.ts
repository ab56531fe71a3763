/** `*` stands for all namespaces in lists alone: what is about one thing refuses it, also where no such thing is there. */
import t from 'tap'
import { serverOfOne } from './server-of-one.ts'

const asked: readonly (readonly [string, string, unknown?])[] = [
  ['GET', '/v1/job/web'],
  ['DELETE', '/v1/job/web'],
  ['GET', '/v1/job/web/versions'],
  ['GET', '/v1/job/web/summary'],
  ['PUT', '/v1/job/web/evaluate'],
  ['PUT', '/v1/job/web/revert', { JobVersion: 0 }],
  ['PUT', '/v1/job/web/dispatch', {}],
  ['PUT', '/v1/job/web/periodic/force'],
  ['PUT', '/v1/job/web/scale', { Count: 1, Target: { Group: 'g' } }],
  ['GET', '/v1/job/web/scale'],
  ['GET', '/v1/job/web/evaluations'],
  ['GET', '/v1/job/web/allocations'],
  ['GET', '/v1/job/web/deployments'],
  ['GET', '/v1/job/web/deployment'],
  ['GET', '/v1/var/app'],
  ['GET', '/v1/session/info/ff01b3ae-0000-4000-8000-000000000000'],
]

t.test('all namespaces are none for what is about one thing', async (t) => {
  const server = await serverOfOne(t)
  for (const [method, path, body] of asked) {
    for (const query of ['namespace=*', 'ns=*']) {
      const answer = await server.ask(method, `${path}?${query}`, body)
      t.equal(answer.status, 400, `${method} ${path}?${query}: ${answer.body}`)
      t.match(answer.body, /namespace \* is for lists: name one namespace/)
    }
  }
  for (const path of ['/v1/jobs', '/v1/vars', '/v1/session/list', '/v1/evaluations']) {
    t.equal((await server.ask('GET', `${path}?namespace=*`)).status, 200, path)
  }
})
