/** `/v1/metrics` and `/v1/agent/metrics`: two forms, and nothing else. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

t.test('metrics are JSON unless Prometheus is asked for', async (t) => {
  const server = await serverOfOne(t)
  for (const url of ['/v1/metrics', '/v1/metrics?format=', '/v1/agent/metrics']) {
    const { status, headers, body } = await server.ask('GET', url)
    t.equal(status, 200)
    t.equal(headers['content-type'], 'application/json')
    t.equal(body, '{"Gauges":[]}')
  }
  for (const path of ['/v1/metrics', '/v1/agent/metrics']) {
    const { status, headers, body } = await server.ask('GET', `${path}?format=prometheus`)
    t.equal(status, 200)
    t.equal(headers['content-type'], 'text/plain')
    t.equal(body, 'muster_up 1\n')
  }
})

t.test('another format is refused in one line, another method as ever', async (t) => {
  const server = await serverOfOne(t)
  const { status, body } = await server.ask('GET', '/v1/metrics?format=xml')
  t.equal(status, 400)
  t.equal(body, 'format "xml" is not known: say prometheus, or leave it out for JSON')
  t.equal((await server.ask('PUT', '/v1/metrics')).status, 405)
})
