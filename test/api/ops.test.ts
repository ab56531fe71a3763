/** The ops listeners, and HTTPS on them and on the API, over real sockets. */
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Certificate } from '../../src/lib/certificate.ts'
import { OpsServer, type OpsOptions } from '../../src/api/ops.ts'
import { apiFake } from '../support/api-fake.ts'
import { ask } from '../support/ask.ts'
import { certificatePair } from '../support/certificates.ts'

function opsServer(t: Test, options: Partial<OpsOptions> = {}): OpsServer {
  const ops = new OpsServer({
    healthy: () => true,
    metrics: async () => ({ type: 'text/plain; version=0.0.4', text: 'muster_up 1\n' }),
    ...options,
  })
  t.teardown(() => ops.stop())
  return ops
}

const anywhere = { host: '127.0.0.1', port: 0 }

t.test('health is a status and nothing else, on every listener', async (t) => {
  let healthy = true
  const ops = opsServer(t, { healthy: () => healthy })
  const ports = [await ops.listen(anywhere), await ops.listen(anywhere)]
  for (const status of [200, 503]) {
    healthy = status === 200
    for (const port of ports) {
      for (const [method, path] of [
        ['GET', '/health'],
        ['HEAD', '/health'],
        ['GET', '/health?verbose=1'],
      ] as const) {
        const { status: seen, body, headers } = await ask(port, method, path)
        t.equal(seen, status)
        t.equal(body, '')
        t.equal(headers['content-length'], '0')
        t.equal(headers['cache-control'], 'no-store')
      }
    }
  }
})

t.test('other methods and paths are refused in one line', async (t) => {
  const port = await opsServer(t).listen(anywhere)
  const rows = [
    ['POST', '/health', 405, 'Invalid method'],
    ['DELETE', '/metrics', 405, 'Invalid method'],
    ['GET', '/health/', 404, 'there is /health and /metrics here'],
    ['GET', '/v1/status/leader', 404, 'there is /health and /metrics here'],
    ['HEAD', '/', 404, ''],
  ] as const
  for (const [method, path, status, body] of rows) {
    const answer = await ask(port, method, path)
    t.equal(answer.status, status)
    t.equal(answer.body, body)
    t.equal(answer.headers.allow, status === 405 ? 'GET, HEAD' : undefined)
  }
})

t.test('metrics are gathered once for all who ask at the same time', async (t) => {
  let gathered = 0
  let done: (text: { type: string; text: string }) => void = () => {}
  const ops = opsServer(t, {
    metrics: () => {
      gathered += 1
      return new Promise((resolve) => (done = resolve))
    },
  })
  const port = await ops.listen(anywhere)
  const asked = Promise.all([ask(port, 'GET', '/metrics'), ask(port, 'GET', '/metrics')])
  // Both have arrived once a later request is answered; connections are taken in order.
  await ask(port, 'GET', '/health')
  await ask(port, 'GET', '/health')
  done({ type: 'text/x', text: 'é 1\n' })
  for (const { status, body, headers } of await asked) {
    t.equal(status, 200)
    t.equal(body, 'é 1\n')
    t.equal(headers['content-type'], 'text/x')
  }
  t.equal(gathered, 1)

  const broken = opsServer(t, { metrics: () => Promise.reject(new Error('secret')) })
  const { status, body } = await ask(await broken.listen(anywhere), 'GET', '/metrics')
  t.equal(status, 500)
  t.equal(body, 'the metrics could not be gathered')
})

t.test('an address in use is refused by name', async (t) => {
  const ops = opsServer(t)
  const port = await ops.listen(anywhere)
  await t.rejects(ops.listen({ host: '127.0.0.1', port }), {
    code: 'unavailable',
    message: new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${port} for ops: `),
  })
})

t.test('a new certificate counts for new connections, a broken one for none', async (t) => {
  const pair = certificatePair(t.testdir())
  const first = await pair.renew()
  const certificate = await Certificate.load(pair)
  const ops = opsServer(t)
  const { http } = apiFake()
  t.teardown(() => http.stop(0))
  const ports = [
    await ops.listen({ ...anywhere, certificate }),
    await http.listen({ ...anywhere, certificate }),
  ]
  const statuses = (ca: string) =>
    Promise.all(ports.map(async (port) => (await ask(port, 'GET', '/health', ca)).status))
  t.same(await statuses(first), [200, 404], 'the API has no /health')

  const second = await pair.renew()
  t.same(await statuses(first), [200, 404], 'files alone change nothing')
  await certificate.reload()
  t.same(await statuses(second), [200, 404])
  await t.rejects(statuses(first), /certificate/)

  await writeFile(pair.certFile, 'nothing')
  await t.rejects(certificate.reload(), { code: 'invalid_argument' })
  t.same(await statuses(second), [200, 404], 'the old one stays')
})

t.test('who speaks plain HTTP to an HTTPS listener is cut off, and nobody else', async (t) => {
  const pair = certificatePair(t.testdir())
  const ca = await pair.renew()
  const certificate = await Certificate.load(pair)
  const ops = opsServer(t)
  const { http } = apiFake()
  t.teardown(() => http.stop(0))
  for (const server of [ops, http]) {
    const port = await server.listen({ ...anywhere, certificate })
    await t.rejects(ask(port, 'GET', '/health'))
    const socket = connect(port, '127.0.0.1')
    await new Promise((resolve) => {
      socket.on('error', () => {})
      socket.on('close', resolve)
      socket.resume()
      socket.write(Buffer.alloc(300, 'x'))
    })
    t.match(await ask(port, 'GET', '/', ca), { status: 404 })
  }
})

t.test('files that do not fit are refused with key and file', async (t) => {
  const folder = t.testdir()
  const pair = certificatePair(folder)
  const other = certificatePair(folder, 'other')
  await pair.renew()
  await other.renew()
  const absent = join(folder, 'absent.pem')
  const rows = [
    [{ ...pair, certFile: absent }, `tls_cert_file ${absent} cannot be read: ENOENT`],
    [{ ...pair, keyFile: absent }, `tls_key_file ${absent} cannot be read: ENOENT`],
    [{ ...pair, certFile: pair.keyFile }, `tls_cert_file ${pair.keyFile} holds no certificate`],
    [{ ...pair, keyFile: pair.certFile }, `tls_key_file ${pair.certFile} holds no private key`],
    [
      { ...pair, keyFile: other.keyFile },
      `tls_key_file ${other.keyFile} is not the key of tls_cert_file ${pair.certFile}`,
    ],
  ] as const
  for (const [files, text] of rows) {
    const refused = await Certificate.load(files).then(
      () => null,
      (error: unknown) => error,
    )
    t.match(refused, { code: 'invalid_argument' })
    t.ok(refused instanceof Error && refused.message.startsWith(text), text)
  }
})
