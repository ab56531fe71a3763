/** What a client agent says to a server beside the request that it passes on. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { headersOfAgent, type Agent } from '../../src/api/passed-on.ts'
import type { HttpServer } from '../../src/api/server.ts'
import { ApiProxy } from '../../src/client-agent/proxy.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

/** An agent's API that passes all requests on to this server. */
function proxyTo(t: Test, place: HttpAddress, self: Agent | null = null): HttpServer {
  const upstream = upstreamTo(t, () => [place])
  const { route } = new ApiProxy(upstream, () => {}, self)
  const { http } = apiFake({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
  t.teardown(() => http.stop())
  return http
}

t.test('a request keeps its dialect on its way to a server', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    response.end(String(request.headers['x-service-dialect']))
  })
  const http = proxyTo(t, place)
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

t.test('an answer that is passed on names each thing once on which it depends', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    response.setHeader('Vary', request.url === '/v1/kv/two' ? 'Origin, accept-encoding' : 'Origin')
    response.end('x'.repeat(5_000))
  })
  const { app } = proxyTo(t, place)
  const varyOf = async (url: string) => String((await app.inject({ url })).headers['vary'])
  t.equal(await varyOf('/v1/kv/two'), 'Origin, accept-encoding')
  t.match(await varyOf('/v1/kv/one'), /^Origin, ?Accept-Encoding$/)
})

t.test('an agent passes on no request whose answer would have to be wrapped', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    response.end('asked')
  })
  const { app } = proxyTo(t, place)
  const headers = { 'x-vault-wrap-ttl': '60' }
  const refused = await app.inject({ method: 'POST', url: '/v1/auth/token/create', headers })
  t.match([refused.statusCode, refused.body], [501, /response wrapping/])
  t.equal((await app.inject({ url: '/v1/kv/a', headers })).body, 'asked')
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
    const http = proxyTo(t, place, self)
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
  const port = await proxyTo(t, place).listen({ host: '127.0.0.1', port: 0 })

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

t.test('an answer comes through as the server gave it, whatever its form', async (t) => {
  const long = 'ab'.repeat(100_000)
  const bytes = Buffer.from([0, 255, 13, 10, 0xc3, 0xa9])
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    short: (response) => response.end('well'),
    bytes: (response) => response.end(bytes),
    empty: (response) => response.end(),
    long: (response) => response.end(long),
    chunks: (response) => {
      response.write('we')
      response.end('ll')
    },
    'long-chunks': (response) => {
      response.write(long)
      response.end(long)
    },
    nothing: (response) => response.writeHead(204).end(),
    unchanged: (response) => response.writeHead(304).end(),
    refused: (response) => response.writeHead(403, { 'content-length': 2 }).end('no'),
    last: (response) => response.writeHead(200, { connection: 'close' }).end('well'),
  }
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    response.setHeader('X-Service-Index', '7')
    response.appendHeader('X-Twice', 'a')
    response.appendHeader('X-Twice', 'b')
    answers[request.url?.split('/').at(-1) ?? '']?.(response)
  })
  const port = await proxyTo(t, place).listen({ host: '127.0.0.1', port: 0 })
  for (const name of Object.keys(answers)) {
    for (const method of ['GET', 'PUT', 'HEAD']) {
      const ask = async (from: number) => {
        const reply = await fetch(`http://127.0.0.1:${from}/v1/${name}`, { method })
        const { status, headers } = reply
        const shown = [headers.get('x-service-index'), headers.get('x-twice')]
        return [status, ...shown, Buffer.from(await reply.arrayBuffer()).toString('latin1')]
      }
      t.same(await ask(port), await ask(place.port), `${method} ${name}`)
    }
  }
})

t.test('a client that goes away ends what it asked for', async (t) => {
  let [asked, ended] = [0, 0]
  const place = await serverStandIn(t, (request, response) => {
    asked += 1
    response.on('close', () => (ended += 1))
    // The answer to one of them has begun.
    if (request.url === '/v1/kv/begun') response.write('half')
  })
  const port = await proxyTo(t, place).listen({ host: '127.0.0.1', port: 0 })
  const paths = ['/v1/kv/a?index=7&wait=5m', '/v1/kv/begun']
  for (const [at, path] of paths.entries()) {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await eventuallyTrue('the server was asked', () => asked === at + 1)
    socket.destroy()
    await eventuallyTrue('the server hears of it', () => ended === at + 1)
  }
})
