/** Which of two routes with one path a request gets: by what it says, else by the listener it came to. */
import { request as ask } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Route } from '../../src/api/route.ts'
import { apiFake } from '../support/api-fake.ts'

const answers = (path: string, answer: string, dialect?: 'consul'): Route => ({
  method: 'GET',
  path,
  ...(dialect !== undefined && { dialect }),
  handle: (request) => ({ json: [answer, request.dialect] }),
})

const routes = [
  answers('/v1/thing/:name', 'common'),
  answers('/v1/thing/:id', 'of Consul', 'consul'),
  answers('/v1/thing/special', 'special', 'consul'),
  answers('/v1/alone', 'alone', 'consul'),
  answers('/v1/both', 'for all'),
  { ...answers('/v1/put', 'read with GET', 'consul') },
  { ...answers('/v1/put', 'written with PUT'), method: 'PUT', body: 'none' } as const,
]

const consul = { 'x-consul-token': 's' }

t.test('a route with the dialect of the request goes before one without any', async (t) => {
  const { http } = apiFake({ routes })
  t.teardown(() => http.stop())
  const rows = [
    [{}, '/v1/thing/a', ['common', 'nomad']],
    [consul, '/v1/thing/a', ['of Consul', 'consul']],
    [{ 'x-consul-token': '' }, '/v1/thing/a', ['of Consul', 'consul']],
    [{ 'x-nomad-token': 's' }, '/v1/thing/a', ['common', 'nomad']],
    [{ 'x-service-dialect': 'consul' }, '/v1/thing/a', ['of Consul', 'consul']],
    [{ ...consul, 'x-service-dialect': 'nomad' }, '/v1/thing/a', ['common', 'nomad']],
    [{ ...consul, 'x-service-dialect': 'latin' }, '/v1/thing/a', ['of Consul', 'consul']],
    [consul, '/v1/thing/special', ['special', 'consul']],
    [{}, '/v1/thing/special', ['common', 'nomad']],
    [consul, '/v1/both', ['for all', 'consul']],
    [{}, '/v1/both', ['for all', 'nomad']],
    [consul, '/v1/alone', ['alone', 'consul']],
    [consul, '/v1/put', ['read with GET', 'consul']],
  ] as const
  for (const [headers, url, expected] of rows) {
    const reply = await http.app.inject({ url, headers })
    t.same(reply.json(), expected, `${url} ${JSON.stringify(headers)}`)
  }
  t.equal((await http.app.inject('/v1/alone')).statusCode, 404)
  const refused = await http.app.inject('/v1/put')
  t.equal(refused.statusCode, 405)
  t.equal(refused.headers['allow'], 'POST, PUT')
})

t.test('two routes of one path and dialect are a defect', async (t) => {
  t.throws(() => apiFake({ routes: [...routes, answers('/v1/alone', 'again', 'consul')] }), {
    message: /two routes serve consul GET \/v1\/alone/,
  })
})

t.test('a listener speaks its dialect to requests that name none', async (t) => {
  const { http } = apiFake({ routes })
  t.teardown(() => http.stop())
  const host = '127.0.0.1'
  const common = await http.listen({ host, port: 0 })
  const other = await http.listen({ host, port: 0, dialect: 'consul' })
  const answerOf = (port: number, headers: Record<string, string> = {}) =>
    new Promise<string>((resolve, reject) => {
      ask({ host, port, path: '/v1/thing/a', headers }, (answer) => {
        text(answer).then(resolve, reject)
      })
        .on('error', reject)
        .end()
    })
  t.equal(await answerOf(common), '["common","nomad"]')
  t.equal(await answerOf(other), '["of Consul","consul"]')
  t.equal(await answerOf(other, { 'x-service-dialect': 'nomad' }), '["common","nomad"]')
  t.equal(await answerOf(other, { 'x-service-dialect': 'latin' }), '["of Consul","consul"]')
  t.equal(await answerOf(other, { 'x-nomad-token': 's' }), '["of Consul","consul"]')
})
