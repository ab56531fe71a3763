/** Which processes a client agent takes for servers: by their certificates, over real sockets. */
import type { IncomingMessage } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ServerTrust, UntrustedServer } from '../../src/client-agent/server-trust.ts'
import { rememberedMax, UntrustedLog } from '../../src/client-agent/untrusted-log.ts'
import { openWebSocket } from '../../src/client-agent/upstream-websocket.ts'
import { bytesOf, type Ask } from '../../src/client-agent/upstream.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import { Authority, type Holder } from '../support/certificates.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

const authority = await Authority.create()
const stranger = await Authority.create('Another CA')
const secret = 'a-token'

type Settings = Partial<Parameters<typeof ServerTrust.load>[0]>

async function trustOf(t: Test, settings: Settings = {}) {
  const caFile = join(t.testdir(), 'ca.pem')
  await writeFile(caFile, authority.cert)
  const all = { caFile, verifyServerHostname: true, minVersion: 'TLSv1.2', ...settings } as const
  return { caFile, trust: await ServerTrust.load(all, 'global') }
}

/** A server with such a certificate, null: with plain HTTP; and what reached it. */
async function server(t: Test, holder: Holder | null, signer = authority) {
  const asked: string[] = []
  const hear = ({ method, url, headers }: IncomingMessage) =>
    void asked.push(`${method} ${url} ${String(headers['x-service-token'])}`)
  const place = await serverStandIn(
    t,
    (request, response) => {
      hear(request)
      request.resume().on('end', () => response.end('well'))
    },
    holder === null ? null : await signer.issue(holder),
  )
  place.server.on('upgrade', (request, socket) => {
    hear(request)
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
  })
  return { asked, place }
}

function ask(method: string): Ask {
  const body = method === 'PUT' ? Buffer.from('body') : null
  const signal = AbortSignal.timeout(20_000)
  return { method, url: '/x', headers: { 'x-service-token': secret }, body, signal }
}

const rows: readonly (readonly [string, Holder | null, Authority, RegExp | null])[] = [
  ['a server of the region', {}, authority, null],
  [
    'a server, by another of its names',
    { dnsNames: ['a', 'server.global.muster'] },
    authority,
    null,
  ],
  ['a server of another region', { region: 'eu' }, authority, /server\.eu\.muster.*region global/],
  ['a client agent', { role: 'client' }, authority, /client\.global\.muster.*shows server\.global/],
  ['the command line', { role: 'cli' }, authority, /may not be used for this side/],
  ['a host', { dnsNames: ['localhost'] }, authority, /shows server\.global\.muster/],
  ['no name', { dnsNames: [] }, authority, /IP Address:127\.0\.0\.1, but a server of region/],
  ['a wildcard', { dnsNames: ['*.global.muster'] }, authority, /shows server\.global\.muster/],
  ['a longer name', { dnsNames: ['server.global.muster.example'] }, authority, /shows server\./],
  ['another authority', {}, stranger, /from an authority that this agent does not trust/],
  ['an expired one', { days: [-9, -1] }, authority, /its certificate has expired/],
  ['one of tomorrow', { days: [1, 9] }, authority, /its certificate is not valid yet/],
  ['plain HTTP', null, authority, /it does not speak TLS/],
]

for (const [what, holder, signer, refusal] of rows) {
  t.test(`with tls.ca_file, a certificate of ${what}`, async (t) => {
    const { trust } = await trustOf(t)
    const first = await server(t, holder, signer)
    const second = await server(t, {})
    const failed: unknown[] = []
    const secure = (place: HttpAddress) => ({ ...place, secure: true })
    const places = [secure(first.place), second.place]
    const upstream = upstreamTo(
      t,
      () => places,
      (_place, error) => failed.push(error),
      trust,
    )
    // `HEAD` goes by Node's HTTP client, the others do not.
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      const text = String(await bytesOf(await upstream.ask(ask(method)), 100))
      t.equal(text, method === 'HEAD' ? '' : 'well')
    }
    const opened = await openWebSocket(upstream, ask('GET'))
    t.match(opened, { status: 403 })
    const heard = ['GET', 'PUT', 'DELETE', 'HEAD', 'GET'].map((method) => `${method} /x ${secret}`)
    t.same(first.asked, refusal === null ? heard : [], 'the first')
    t.same(second.asked, refusal === null ? [] : heard, 'the next one')
    t.equal(failed.length, refusal === null ? 0 : 5)
    for (const error of failed) {
      t.match(error, { message: refusal })
      t.ok(error instanceof Error && error.cause instanceof UntrustedServer)
    }
    const alone = upstreamTo(
      t,
      () => places.slice(0, 1),
      () => {},
      trust,
    )
    if (refusal === null) return
    await t.rejects(alone.ask(ask('GET')), { code: 'no_leader', message: refusal })
  })
}

t.test('with tls.ca_file, plain HTTP is not even tried', async (t) => {
  const { trust } = await trustOf(t)
  const { asked, place } = await server(t, null)
  const upstream = upstreamTo(
    t,
    () => [place],
    () => {},
    trust,
  )
  const message = /plain HTTP is not spoken to servers, as tls\.ca_file is set/
  await t.rejects(upstream.ask(ask('GET')), { code: 'no_leader', message })
  await t.rejects(upstream.askOne(place, ask('GET')), { message })
  await t.rejects(openWebSocket(upstream, ask('GET')), { code: 'no_leader', message })
  t.same(asked, [])
})

t.test('a connection over TLS is kept, whoever reads the answers', async (t) => {
  const { trust } = await trustOf(t)
  let handshakes = 0
  const long = 'a'.repeat(200_000)
  const place = await serverStandIn(
    t,
    (request, response) => void response.end(request.method === 'GET' ? 'well' : long),
    await authority.issue({}),
  )
  place.server.on('secureConnection', () => (handshakes += 1))
  const upstream = upstreamTo(
    t,
    () => [place],
    () => {},
    trust,
  )
  for (const [method, text] of [
    ['GET', 'well'],
    ['DELETE', long],
    ['GET', 'well'],
    ['DELETE', long],
  ] as const) {
    t.equal(String(await bytesOf(await upstream.ask(ask(method)), 1_000_000)), text)
  }
  t.equal(handshakes, 1)
})

t.test('without verify_server_hostname the address that is asked may be in it', async (t) => {
  const { trust } = await trustOf(t, { verifyServerHostname: false })
  const { place } = await server(t, { role: 'client' })
  const upstream = upstreamTo(
    t,
    () => [place],
    () => {},
    trust,
  )
  t.equal((await upstream.ask(ask('GET'))).status, 200)
  t.match(trust.warning, /any holder of a certificate/)
})

t.test('without tls.ca_file it says what that means', async (t) => {
  const { trust } = await trustOf(t, { caFile: null })
  t.notOk(trust.tlsOnly)
  t.match(trust.warning, /in the clear, and to any process that gossips as a server; set tls\./)
  t.equal((await trustOf(t)).trust.warning, null)
})

t.test('authorities are read again, and a damaged file changes nothing', async (t) => {
  const { trust, caFile } = await trustOf(t)
  const [old, next] = [await server(t, {}), await server(t, {}, stranger)]
  const status = async (place: HttpAddress) => {
    const upstream = upstreamTo(
      t,
      () => [place],
      () => {},
      trust,
    )
    return upstream.ask(ask('GET')).then(
      ({ status }) => status,
      () => 'refused',
    )
  }
  t.same([await status(old.place), await status(next.place)], [200, 'refused'])
  await writeFile(caFile, authority.cert + stranger.cert)
  await trust.reload()
  t.same([await status(old.place), await status(next.place)], [200, 200])
  await writeFile(caFile, 'rubbish')
  await t.rejects(trust.reload(), { message: /tls\.ca_file .* holds no certificate in PEM/ })
  t.same([await status(old.place), await status(next.place)], [200, 200])
  await writeFile(caFile, stranger.cert)
  await trust.reload()
  t.same([await status(old.place), await status(next.place)], ['refused', 200])
  await t.rejects(trustOf(t, { caFile: join(t.testdirName, 'none') }), {
    code: 'invalid_argument',
    message: /tls\.ca_file .*none cannot be read/,
  })
})

t.test('a refused server is in the log once a minute, and few are remembered', (t) => {
  const lines: unknown[] = []
  let nowMs = 0
  const log = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(line) }
  const untrusted = new UntrustedLog({ ...systemClock, monotonicMs: () => nowMs }, log)
  const place = (port: number) => ({ secure: true, host: '10.0.0.1', port })
  const refused = new Error('', { cause: new UntrustedServer('its certificate has expired') })
  untrusted.add(place(1), new Error('it is down'))
  t.same(lines, [])
  untrusted.add(place(1), refused)
  untrusted.add(place(1), refused)
  t.match(lines, [
    [/sent it nothing/, { server: '10.0.0.1:1', reason: 'its certificate has expired' }],
  ])
  nowMs += 60_000
  untrusted.add(place(1), refused)
  t.equal(lines.length, 2)
  for (let port = 2; port <= rememberedMax + 1; port += 1) untrusted.add(place(port), refused)
  untrusted.add(place(rememberedMax + 1), refused)
  t.equal(lines.length, 2 + rememberedMax)
  untrusted.add(place(1), refused)
  t.equal(lines.length, 3 + rememberedMax, 'the oldest was forgotten')
  t.end()
})
