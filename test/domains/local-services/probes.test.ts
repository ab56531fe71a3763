/** Looks of every kind against real listeners and processes. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Server as GrpcServer, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import type { ActiveProbe } from '../../../src/domains/local-services/definition.ts'
import { outputBytesMax } from '../../../src/domains/catalog/model.ts'
import { look } from '../../../src/domains/local-services/probes/probe.ts'
import { certificatePair } from '../../support/certificates.ts'
import { eventually } from '../../support/eventually.ts'

const times = { intervalMs: 1_000, timeoutMs: 10_000 }
const patient = new AbortController().signal

async function portOf(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function closedPort(t: Test): Promise<number> {
  const server = createServer()
  const port = await portOf(t, server)
  server.close()
  await once(server, 'close')
  return port
}

function http(
  port: number,
  path: string,
  spec: Partial<Extract<ActiveProbe, { type: 'http' }>> = {},
) {
  return {
    type: 'http',
    url: `http://127.0.0.1:${port}${path}`,
    method: 'GET',
    headers: [],
    body: '',
    tlsSkipVerify: false,
    followRedirects: true,
    ...times,
    ...spec,
  } as const
}

void t.test('HTTP: 2xx passes, 429 warns, all else is critical', async (t) => {
  const answer: RequestListener = (request, response) => {
    const status = Number(request.url?.slice(1, 4))
    if (status === 302) response.setHeader('location', '/200')
    response.writeHead(status).end(`${request.method} ${String(request.headers['x-key'])}`)
    request.resume()
  }
  const port = await portOf(t, createHttpServer(answer))
  const rows = [
    [200, 'passing'],
    [204, 'passing'],
    [429, 'warning'],
    [404, 'critical'],
    [500, 'critical'],
    [302, 'passing'],
  ] as const
  for (const [status, wanted] of rows) {
    t.equal((await look(http(port, `/${status}`), patient)).status, wanted, String(status))
  }
  const still = await look(http(port, '/302', { followRedirects: false }), patient)
  t.equal(still.status, 'critical', 'a redirect that is not followed')
  const posted = await look(
    http(port, '/200', { method: 'POST', body: 'x', headers: [['X-Key', 'secret']] }),
    patient,
  )
  t.match(posted.output, /200 OK Output: POST secret/)
  const refused = await look(http(await closedPort(t), '/200'), patient)
  t.match(refused, { status: 'critical', output: /ECONNREFUSED/ })
})

void t.test('HTTP: a body without end is cut, and a silent server is left', async (t) => {
  const server = createHttpServer((request, response) => {
    if (request.url === '/silent') return
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(1_024), more)
    }
    more()
  })
  const port = await portOf(t, server)
  const endless = await look(http(port, '/endless'), patient)
  t.equal(endless.status, 'passing')
  t.ok(Buffer.byteLength(endless.output) <= outputBytesMax)
  const timeout = new AbortController()
  const silent = look(http(port, '/silent'), timeout.signal)
  await once(server, 'request')
  timeout.abort()
  t.equal((await silent).status, 'critical')
})

void t.test('HTTPS: a certificate may have another name than the address', async (t) => {
  const pair = certificatePair(t.testdir())
  const cert = await pair.renew()
  const names: unknown[] = []
  const server = createHttpsServer(
    { cert, key: await readFile(pair.keyFile) },
    (request, response) => {
      names.push('servername' in request.socket ? request.socket.servername : null)
      response.end()
    },
  )
  const port = await portOf(t, server)
  const ask = (more: object) =>
    look({ ...http(port, '/'), url: `https://localhost:${port}/`, ...more }, patient)
  t.match(await ask({}), { status: 'critical', output: /self-signed/ })
  t.match(await ask({ tlsSkipVerify: true }), { status: 'passing' })
  t.match(await ask({ tlsSkipVerify: true, tlsServerName: 'web.example' }), { status: 'passing' })
  t.strictSame(names, ['localhost', 'web.example'])
})

void t.test('TCP: whoever accepts passes', async (t) => {
  const port = await portOf(
    t,
    createServer((socket) => socket.destroy()),
  )
  t.match(await look({ type: 'tcp', host: '127.0.0.1', port, ...times }, patient), {
    status: 'passing',
  })
  const closed = await closedPort(t)
  t.match(await look({ type: 'tcp', host: '127.0.0.1', port: closed, ...times }, patient), {
    status: 'critical',
    output: /ECONNREFUSED/,
  })
  const gone = AbortSignal.abort()
  t.match(await look({ type: 'tcp', host: '127.0.0.1', port, ...times }, gone), {
    status: 'critical',
    output: /no answer in time/,
  })
})

void t.test('gRPC: serving passes, for the server and for its services', async (t) => {
  /** The service by hand: one byte for the field, one for the status; a name behind its field and its length. */
  const health: ServiceDefinition = {
    Check: {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: (name: string) => Buffer.from(name),
      requestDeserialize: (bytes) => ({ service: nameIn(bytes) }),
      responseSerialize: (status: number) => Buffer.from([0x08, status]),
      responseDeserialize: (bytes) => bytes[1],
    },
  }
  const server = new GrpcServer()
  const longName = 'n'.repeat(300)
  const statuses: Record<string, number> = { '': 1, db: 2, [longName]: 1 }
  server.addService(health, {
    Check: (
      call: { request: { service: string } },
      answer: (error: object | null, value?: number) => void,
    ) => {
      const status = statuses[call.request.service]
      if (status === undefined) answer({ code: 5, details: 'unknown service' })
      else answer(null, status)
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  t.teardown(() => server.forceShutdown())
  const ask = (service: string) =>
    look(
      {
        type: 'grpc',
        target: `127.0.0.1:${port}`,
        service,
        tls: false,
        tlsSkipVerify: false,
        ...times,
      },
      patient,
    )
  t.match(await ask(''), { status: 'passing', output: /SERVING/ })
  t.match(await ask(longName), { status: 'passing' })
  t.match(await ask('db'), { status: 'critical', output: /NOT_SERVING/ })
  t.match(await ask('none'), { status: 'critical', output: /unknown service/ })
})

void t.test('scripts: the exit code decides, and what they started ends with them', async (t) => {
  const run = (args: readonly string[], signal = patient) =>
    look({ type: 'script', args, ...times }, signal)
  t.match(await run(['sh', '-c', 'echo fine']), { status: 'passing', output: 'fine\n' })
  t.match(await run(['sh', '-c', 'echo hm >&2; exit 1']), { status: 'warning', output: 'hm\n' })
  t.match(await run(['sh', '-c', 'exit 2']), { status: 'critical' })
  t.match(await run(['/nonexistent/command']), { status: 'critical', output: /ENOENT/ })
  const long = await run(['sh', '-c', 'seq 100000'])
  t.ok(Buffer.byteLength(long.output) <= outputBytesMax)
  t.match(long.output, /100000\n$/, 'the end is kept')

  const timeout = new AbortController()
  const late = run(['sh', '-c', 'echo $$; sleep 1000 & sleep 1000'], timeout.signal)
  timeout.abort()
  const { status, output } = await late
  t.equal(status, 'critical')
  t.match(output, /killed/)

  const left = await run(['sh', '-c', 'sleep 1000 & echo $!'])
  const pid = Number(left.output)
  await eventually('what it left running is gone', () => (isAlive(pid) ? undefined : true))
  t.pass('no process stays')
})

/** Field 1 of a message that has no other; its length is one byte or two. */
function nameIn(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  return bytes.subarray((bytes[1] ?? 0) > 127 ? 3 : 2).toString('utf8')
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

void t.test('TCP with TLS: a handshake passes, with a certificate that is good', async (t) => {
  const pair = certificatePair(t.testdir())
  const cert = await pair.renew()
  const names: unknown[] = []
  const server = createTlsServer({ cert, key: await readFile(pair.keyFile) }, (socket) => {
    names.push(socket.servername)
    socket.on('error', () => {})
  })
  const port = await portOf(t, server)
  const ask = (tls: { skipVerify: boolean; serverName?: string }, at = port) =>
    look({ type: 'tcp', host: '127.0.0.1', port: at, tls, ...times }, patient)
  t.match(await ask({ skipVerify: true }), { status: 'passing', output: /with TLS: Success/ })
  t.match(await ask({ skipVerify: true, serverName: 'web.example' }), { status: 'passing' })
  await eventually('both are whole for the server too', () => Promise.resolve(names[1]))
  t.same(names, [false, 'web.example'])
  t.match(await ask({ skipVerify: false }), { status: 'critical', output: /self.signed|verify/ })
  const plain = await portOf(
    t,
    createServer((socket) => socket.end('no handshake')),
  )
  t.match(await ask({ skipVerify: true }, plain), { status: 'critical' })
  const silent = createServer(() => {})
  const silentPort = await portOf(t, silent)
  const late = AbortSignal.timeout(50)
  const probe = { type: 'tcp', host: '127.0.0.1', port: silentPort, ...times } as const
  t.match(await look({ ...probe, tls: { skipVerify: true } }, late), {
    status: 'critical',
    output: /no answer in time/,
  })
})
