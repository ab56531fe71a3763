/** What a client agent says to a server beside the request that it passes on. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { headersOfAgent } from '../../src/api/passed-on.ts'
import { ApiProxy } from '../../src/client-agent/proxy.ts'
import { apiFake } from '../support/api-fake.ts'
import { everything } from '../support/everything.ts'
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
  const { route } = new ApiProxy(upstream, () => {})
  const { http } = apiFake({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
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

t.test('an agent says whose request it is, and passes on nobody else’s word for it', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    const { 'x-service-caller': caller, 'x-service-agent': agent } = request.headers
    response.end([caller, agent, request.headers['x-service-agent-token']].join(' '))
  })
  const forged = headersOfAgent({ node: 'forged', token: 'forged' }, '10.9.9.9')
  for (const [self, expected] of [
    [null, '  '],
    [{ node: 'c1', token: 'secret' }, '10.1.2.3 c1 secret'],
  ] as const) {
    const upstream = upstreamTo(t, () => [place])
    const { route } = new ApiProxy(upstream, () => {}, self)
    const { http } = apiFake({
      http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } },
    })
    t.teardown(() => http.stop())
    const from = async (remoteAddress: string) =>
      (await http.app.inject({ url: '/v1/kv/a', headers: forged, remoteAddress })).body
    t.equal(await from('10.1.2.3'), expected)
    t.equal(await from('127.0.0.1'), '  ', 'a client on its own machine')
  }
})

t.test('a client that asks before it sends is told to by the server', async (t) => {
  const seen: string[] = []
  const place = await serverStandIn(t, () => t.fail('the server is asked first'))
  place.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/refused') {
      response.writeHead(403, { Connection: 'close' }).end('no')
      return
    }
    response.writeContinue()
    let length = 0
    request.on('data', (piece: Buffer) => (length += piece.length))
    request.on('end', () => response.end(`${length} bytes`))
  })
  place.server.on('connection', (socket) => {
    socket.on('data', (data) => seen.push(String(data)))
  })
  const { route } = new ApiProxy(
    upstreamTo(t, () => [place]),
    () => {},
  )
  const { http } = apiFake({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
  t.teardown(() => http.stop())
  const port = await http.listen({ host: '127.0.0.1', port: 0 })

  const ask = async (path: string, head: string, body: string) => {
    const socket = connect(port, '127.0.0.1')
    const answer = everything(socket)
    socket.write(
      `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n${head}\r\n`,
    )
    const [first] = await once(socket, 'data')
    if (String(first).startsWith('HTTP/1.1 100 Continue')) socket.write(body)
    return answer
  }
  const body = 'a'.repeat(100_000)
  const declared = 'Content-Length: 100000\r\n'
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const well = /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*100000 bytes$/
  t.match(await ask('/taken', declared, body), well)
  t.match(await ask('/taken', chunked, `186a0\r\n${body}\r\n0\r\n\r\n`), well)
  seen.length = 0
  for (const head of [declared, chunked]) {
    t.match(await ask('/refused', head, body), /^HTTP\/1\.1 403 [^]*\nno\r?$/m, head)
  }
  t.notMatch(seen.join(''), /aaa/, 'nothing of the body was sent')
})
