/** Routes with the method LIST, by LIST and by `list=true`, over real connections. */
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import t, { type Test } from 'tap'
import type { AuditedRequest } from '../../src/api/audit.ts'
import type { Route } from '../../src/api/route.ts'
import { ApiProxy } from '../../src/client-agent/proxy.ts'
import { Certificate } from '../../src/lib/certificate.ts'
import { upstreamTo } from '../client-agent/server-stand-in.ts'
import { apiFake } from '../support/api-fake.ts'
import { certificatePair } from '../support/certificates.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'

const says = (method: Route['method'], path: string, text: string): Route => ({
  method,
  path,
  handle: (request) => ({ text: `${text} ${request.method}` }),
})

const bulk = 'b'.repeat(300_000)

const routes: readonly Route[] = [
  says('LIST', '/v1/names', 'names'),
  says('GET', '/v1/names', 'read'),
  says('LIST', '/v1/only', 'only'),
  says('GET', '/v1/plain', 'plain'),
  { method: 'GET', path: '/v1/bulk', handle: () => ({ text: bulk }) },
  {
    method: 'PUT',
    path: '/v1/echo',
    body: 'bytes',
    handle: ({ bytes }) => ({ text: `echo ${Buffer.from(bytes).toString()}` }),
  },
]

async function listening(t: Test, secure = false) {
  const audited: AuditedRequest[] = []
  const observed: string[] = []
  const { http } = apiFake({
    routes,
    http: {
      audit: {
        enabled: true,
        refusing: false,
        accessorOf: () => null,
        record: (entry) => void audited.push(entry),
      },
      observerOf: (route) => (status) =>
        void observed.push(`${route?.method ?? 'any'} ${route?.path ?? ''} ${status}`),
      browsers: { ownNames: [], allowedHosts: [], corsOrigins: ['https://ui.example.com'] },
    },
  })
  t.teardown(() => http.stop(0))
  const listen = { host: '127.0.0.1', port: 0 }
  if (!secure) return { http, audited, observed, port: await http.listen(listen), ca: '' }
  const files = certificatePair(t.testdir())
  const ca = await files.renew()
  const certificate = await Certificate.load(files)
  return { http, audited, observed, ca, port: await http.listen({ ...listen, certificate }) }
}

const head = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
const last = 'Connection: close\r\n'

async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const answer = everything(socket)
  socket.write(text)
  return answer
}

/** Statuses and bodies in turn. */
function told(answer: string): string[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d+)[^]*?\r\n\r\n([^]*?)(?=HTTP\/1\.1 |$)/g)].map(
    ([, status = '', body = '']) => `${status} ${body.trim()}`,
  )
}

t.test('LIST has routes of its own, and is called LIST wherever it is named', async (t) => {
  const { port, audited, observed } = await listening(t)
  const mixed =
    head('LIST', '/v1/names') +
    head('GET', '/v1/names') +
    head('PUT', '/v1/echo', 'Content-Length: 10\r\n') +
    'LIST / x\r\n' +
    head('LIST', '/v1/names', 'Content-Length: 2\r\n') +
    '{}' +
    head('LIST', '/v1/only', last)
  t.same(told(await exchange(port, mixed)), [
    '200 names LIST',
    '200 read GET',
    '200 echo LIST / x',
    '200 names LIST',
    '200 only LIST',
  ])
  await eventuallyTrue('all are told of', () => audited.length === 5 && observed.length === 5)
  t.same(
    audited.map(({ method, route }) => `${method} ${route}`),
    ['LIST /v1/names', 'GET /v1/names', 'PUT /v1/echo', 'LIST /v1/names', 'LIST /v1/only'],
  )
  t.equal(observed[0], 'LIST /v1/names 200')
})

t.test('GET with list=true reaches the route of LIST', async (t) => {
  const { port, audited } = await listening(t)
  const rows = [
    ['/v1/names?list=true', '200 names GET'],
    ['/v1/names?x=1&list=1', '200 names GET'],
    ['/v1/names?list=false', '200 read GET'],
    ['/v1/names?list=', '200 read GET'],
    ['/v1/names?nolist=true', '200 read GET'],
    ['/v1/names?list=perhaps', '400 query parameter list must be true or false'],
    ['/v1/only?list=true', '200 only GET'],
    ['/v1/only', '405 Invalid method'],
    ['/v1/plain?list=true', '200 plain GET'],
    ['/v1/plain?list=perhaps', '200 plain GET'],
    ['/v1/none?list=true', '404 no such path: the HTTP API has no route for it'],
  ] as const
  for (const [path, expected] of rows) {
    t.same(told(await exchange(port, head('GET', path, last))), [expected], path)
  }
  t.ok(audited.every(({ method }) => method === 'GET'))
  t.match(await exchange(port, head('HEAD', '/v1/only?list=true', last)), /^HTTP\/1\.1 200 /)
})

t.test('a path that has no LIST, and LINK, are 405', async (t) => {
  const { port, audited } = await listening(t)
  const refused = await exchange(port, head('LIST', '/v1/plain', last))
  t.match(refused, /^HTTP\/1\.1 405 [^]*\r\nAllow: GET, HEAD\r\n/i)
  const link = await exchange(port, head('LINK', '/v1/only', last))
  t.match(link, /^HTTP\/1\.1 405 [^]*\r\nAllow: LIST\r\n/i)
  t.same(
    audited.map(({ method }) => method),
    ['LIST', 'LINK'],
  )
})

t.test('a page that may use the API may LIST', async (t) => {
  const { port } = await listening(t)
  const origin = 'Origin: https://ui.example.com\r\n'
  const preflight = `${origin}Access-Control-Request-Method: LIST\r\n${last}`
  const granted = await exchange(port, head('OPTIONS', '/v1/only', preflight))
  t.match(granted, /Access-Control-Allow-Methods: [^\r]*\bLIST\b/)
  t.match(await exchange(port, head('LIST', '/v1/only', origin + last)), /^HTTP\/1\.1 200 /)
  const foreign = 'Origin: https://evil.example.com\r\n'
  t.match(await exchange(port, head('LIST', '/v1/only', foreign + last)), /^HTTP\/1\.1 403 /)
})

t.test('a connection that is kept alive, and one with TLS', async (t) => {
  const { port, ca } = await listening(t, true)
  const socket = connectSecure({ port, host: '127.0.0.1', ca })
  const answer = everything(socket)
  await once(socket, 'secureConnect')
  for (const byte of head('LIST', '/v1/only')) socket.write(byte)
  socket.write(head('GET', '/v1/plain') + head('LIST', '/v1/only', last))
  t.same(told(await answer), ['200 only LIST', '200 plain GET', '200 only LIST'])

  const plain = await listening(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ask = async (method: string) => {
    const sent = httpRequest({ port: plain.port, agent, method, path: '/v1/names' }).end()
    const [response] = await once(sent, 'response')
    return [sent.reusedSocket, String((await response.toArray())[0]).trim()]
  }
  t.same(await ask('LIST'), [false, 'names LIST'])
  t.same(await ask('GET'), [true, 'read GET'])
  t.same(await ask('LIST'), [true, 'names LIST'])
})

t.test('LISTs behind answers that the client does not read yet', async (t) => {
  const { port } = await listening(t)
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  const requests = head('GET', '/v1/bulk') + head('LIST', '/v1/only')
  socket.write(requests.repeat(20) + head('LIST', '/v1/only', last))
  await once(socket, 'readable')
  const answers = told(await everything(socket)).map((text) => text.slice(0, 20))
  t.equal(answers.length, 41)
  t.equal(answers.filter((text) => text === '200 only LIST').length, 21)
})

t.test('what is no request is refused as ever', async (t) => {
  const { port } = await listening(t)
  for (const line of ['LISTS / HTTP/1.1\r\n', 'LIS', 'LIST /v1/only HTTP/9.9\r\n\r\n']) {
    const socket = connect(port, '127.0.0.1')
    const answer = everything(socket)
    socket.write(line)
    if (line === 'LIS') socket.end('x')
    t.match(await answer, /^HTTP\/1\.1 400 /, line)
  }
})

t.test('a client agent passes LIST on', async (t) => {
  const { port } = await listening(t)
  const upstream = upstreamTo(t, () => [{ secure: false, host: '127.0.0.1', port }])
  const { route } = new ApiProxy(upstream, () => {})
  const { http } = apiFake({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
  t.teardown(() => http.stop(0))
  const agent = await http.listen({ host: '127.0.0.1', port: 0 })
  const mixed =
    head('LIST', '/v1/names') +
    head('GET', '/v1/names') +
    head('GET', '/v1/names?list=true') +
    head('LIST', '/v1/only', 'Content-Length: 5\r\n') +
    'LIST ' +
    head('LIST', '/v1/plain', last)
  t.same(told(await exchange(agent, mixed)), [
    '200 names LIST',
    '200 read GET',
    '200 names GET',
    '200 only LIST',
    '405 Invalid method',
  ])
})
