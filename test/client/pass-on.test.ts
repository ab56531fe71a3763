/** What a client agent says to a server beside the request that it passes on. */
import t from 'tap'
import { PassOn } from '../../src/client/pass-on.ts'
import { apiTwin } from '../support/api-twin.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

t.test('a request keeps its dialect on its way to a server', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    response.end(String(request.headers['x-service-dialect']))
  })
  const upstream = upstreamTo(
    t,
    () => [place],
    () => {},
  )
  const { route } = new PassOn(upstream, () => {})
  const { http } = apiTwin({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
  t.teardown(() => http.stop())
  const rows = [
    [{}, 'nomad'],
    [{ 'x-consul-token': 's' }, 'consul'],
    [{ 'x-service-dialect': 'consul' }, 'consul'],
    [{ 'x-consul-token': 's', 'x-service-dialect': 'nomad' }, 'nomad'],
  ] as const
  for (const [headers, dialect] of rows) {
    const reply = await http.app.inject({ url: '/v1/acl/tokens', headers })
    t.equal(reply.body, dialect, JSON.stringify(headers))
  }
})
