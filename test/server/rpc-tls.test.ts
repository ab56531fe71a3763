import { appendFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { loadRpcTls, rpcWarningOf, type RpcTlsSettings } from '../../src/server/rpc-tls.ts'
import { dial } from '../../src/wire/dial.ts'
import type { WireTls } from '../../src/wire/tls.ts'
import { Authority, writeTlsFiles, type Holder, type TlsFiles } from '../support/certificates.ts'
import { collect, echoServer, path, wireOf } from '../wire/echo.ts'
import { until } from '../wire/until.ts'

const authority = await Authority.create()
const stranger = await Authority.create('Another CA')

type Spec = Partial<RpcTlsSettings> & { readonly region?: string }

function load(files: TlsFiles, { region = 'global', ...settings }: Spec = {}): Promise<WireTls> {
  return loadRpcTls({
    settings: {
      ...files,
      verifyServerHostname: true,
      upgradeMode: false,
      minVersion: 'TLSv1.2',
      ...settings,
    },
    region,
    clock: systemClock,
    logger: silentLogger,
  })
}

/** Like a server with this certificate, whatever it would say of it itself. */
async function carelessly(folder: string, signer: Authority, holder: Holder): Promise<WireTls> {
  const name = JSON.stringify(holder).replace(/\W+/g, '-')
  const files = await writeTlsFiles(
    folder,
    name,
    signer.cert + authority.cert,
    await signer.issue(holder),
  )
  const trusting = await load(files, { verifyServerHostname: false })
  return { ...trusting, refusalOf: () => null }
}

t.test('servers of one region and authority speak with one another', async (t) => {
  for (const minVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const folder = t.testdir()
    const a = await load(await writeTlsFiles(folder, 'a', authority.cert, await authority.issue()))
    const b = await load(
      await writeTlsFiles(folder, 'b', authority.cert, await authority.issue()),
      {
        minVersion,
      },
    )
    const { address } = await echoServer(t, { id: 'b', tls: b })
    const stream = await dial(wireOf({ id: 'a', tls: a }), { address, path, to: 'b' })
    const frames = collect(stream)
    const long = 'x'.repeat(3_000_000)
    stream.write(Buffer.from('hello'))
    stream.write(Buffer.from(long))
    await until('the frames are back', () => frames.length === 2)
    t.same(frames, ['hello', long])
    stream.close('done')
  }
})

t.test('who is not a server of this region is refused, whichever side it is on', async (t) => {
  const rows: readonly (readonly [Holder, RegExp])[] = [
    [{ role: 'client' }, /client\.global\.muster.*region global shows server\.global\.muster/],
    [{ region: 'eu' }, /server\.eu\.muster.*region global shows server\.global\.muster/],
    [{ dnsNames: ['*.global.muster'] }, /\*\.global\.muster/],
    [{ dnsNames: ['server.global.muster.evil.example'] }, /evil\.example/],
    [{ dnsNames: ['evil.example'] }, /evil\.example.*server\.global\.muster/],
  ]
  const folder = t.testdir()
  const good = await load(
    await writeTlsFiles(folder, 'good', authority.cert, await authority.issue()),
  )
  const lines: string[] = []
  const served = await echoServer(t, { id: 'b', tls: good, log: lines })
  for (const [holder, message] of rows) {
    const tls = await carelessly(folder, authority, holder)
    const intruder = wireOf({ id: 'a', tls })
    const refused = { failure: 'rejected', message }
    await t.rejects(dial(intruder, { address: served.address, path, to: 'b' }), refused)
    await t.rejects(dial(intruder, { address: served.address, path, to: 'b' }), refused)
    t.match(lines.pop(), message, 'told in the log')
    t.same(lines, [], 'once')

    const trap = await echoServer(t, { id: 'b', tls })
    const wire = wireOf({ id: 'a', tls: good })
    await t.rejects(dial(wire, { address: trap.address, path, to: 'b' }), refused)
    t.equal(wire.refusals.count('role'), 1)
  }
  t.equal(served.wire.refusals.count('role'), 2 * rows.length)
  // It may not even serve: the library looks at what the certificate may be used for.
  const cli = await authority.issue({ role: 'cli' })
  const files = await writeTlsFiles(folder, 'cli', authority.cert, cli)
  await t.rejects(load(files, { verifyServerHostname: false }), /may not be used for both sides/)
})

t.test('without verify_server_hostname any certificate of the authority will do', async (t) => {
  const folder = t.testdir()
  const client = await authority.issue({ role: 'client', region: 'eu' })
  const files = await writeTlsFiles(folder, 'a', authority.cert, client)
  await t.rejects(load(files), /a server here shows server\.global\.muster/)
  const tls = await load(files, { verifyServerHostname: false })
  const { address } = await echoServer(t, { id: 'b', tls })
  const stream = await dial(wireOf({ id: 'a', tls }), { address, path, to: 'b' })
  stream.close('done')
  const other = await carelessly(folder, stranger, {})
  await t.rejects(dial(wireOf({ id: 'a', tls: other }), { address, path, to: 'b' }))
})

t.test('certificates of strangers, old ones and none are refused on both sides', async (t) => {
  const folder = t.testdir()
  const good = await load(
    await writeTlsFiles(folder, 'good', authority.cert, await authority.issue()),
  )
  const rows = [
    [
      'a stranger',
      await carelessly(folder, stranger, {}),
      /authority that this agent does not trust/,
    ],
    ['expired', await expired(folder), /its certificate has expired/],
  ] as const
  for (const [what, tls, reason] of rows) {
    const lines: string[] = []
    const served = await echoServer(t, { id: 'b', tls: good, log: lines })
    const intruder = wireOf({ id: 'a', tls })
    await t.rejects(
      dial(intruder, { address: served.address, path, to: 'b' }),
      /ended the connection after the TLS handshake/,
      what,
    )
    t.match(lines, [reason])
    t.match(lines, [/DNS:server\.global\.muster/], 'and for whom it says that it is')
    t.equal(served.wire.refusals.count('certificate'), 1)

    const trap = await echoServer(t, { id: 'b', tls })
    const wire = wireOf({ id: 'a', tls: good })
    const refused = { failure: 'rejected', message: reason }
    await t.rejects(dial(wire, { address: trap.address, path, to: 'b' }), refused)
    t.equal(wire.refusals.count('certificate'), 1)
  }
})

async function expired(folder: string): Promise<WireTls> {
  const files = await writeTlsFiles(
    folder,
    'old',
    authority.cert,
    await authority.issue({ days: [-9, -1] }),
  )
  const yesterdayMs = systemClock.wallMs() - 2 * 24 * 60 * 60 * 1000
  const tls = await loadRpcTls({
    settings: { ...files, verifyServerHostname: true, upgradeMode: false, minVersion: 'TLSv1.2' },
    region: 'global',
    clock: { ...systemClock, wallMs: () => yesterdayMs },
    logger: silentLogger,
  })
  return tls
}

t.test('plain text and TLS do not meet, and both say so', async (t) => {
  const folder = t.testdir()
  const tls = await load(await writeTlsFiles(folder, 'a', authority.cert, await authority.issue()))
  const secureLines: string[] = []
  const secure = await echoServer(t, { id: 'b', tls, log: secureLines })
  const plainDialler = wireOf({ id: 'a' })
  await t.rejects(
    dial(plainDialler, { address: secure.address, path, to: 'b' }),
    /hung up without a word, as one does that stops, or that speaks TLS only/,
  )
  t.match(secureLines, [/it speaks plain text, and this server wants TLS/])
  t.equal(secure.wire.refusals.count('plain'), 1)

  const plainLines: string[] = []
  const plain = await echoServer(t, { id: 'b', log: plainLines })
  const dialler = wireOf({ id: 'a', tls })
  await t.rejects(dial(dialler, { address: plain.address, path, to: 'b' }), {
    failure: 'rejected',
    message: /does not speak TLS/,
  })
  t.match(plainLines, [/it speaks TLS, and this server does not/])
  t.equal(dialler.refusals.count('plain'), 1)
})

t.test('during a change-over both are taken and made, and TLS wherever it can be', async (t) => {
  const folder = t.testdir()
  const files = await writeTlsFiles(folder, 'a', authority.cert, await authority.issue())
  const changing = await load(files, { upgradeMode: true })
  const strict = await load(files)
  const sides = { plain: undefined, changing, strict }
  const works = async (from: keyof typeof sides, to: keyof typeof sides): Promise<boolean> => {
    const served = await echoServer(t, { id: 'b', ...tlsOf(sides[to]) })
    const wire = wireOf({ id: 'a', ...tlsOf(sides[from]) })
    try {
      const stream = await dial(wire, { address: served.address, path, to: 'b' })
      const frames = collect(stream)
      stream.write(Buffer.from('hello'))
      await until('the frame is back', () => frames.length === 1)
      stream.close('done')
      return true
    } catch {
      return false
    }
  }
  const rows = [
    ['plain', 'changing', true],
    ['changing', 'plain', true],
    ['changing', 'changing', true],
    ['changing', 'strict', true],
    ['strict', 'changing', true],
    ['strict', 'strict', true],
    ['plain', 'strict', false],
    ['strict', 'plain', false],
  ] as const
  for (const [from, to, expected] of rows) {
    t.equal(await works(from, to), expected, `${from} to ${to}`)
  }
  const intruder = await carelessly(folder, authority, { role: 'client' })
  const served = await echoServer(t, { id: 'b', tls: changing })
  const dialled = dial(wireOf({ id: 'a', tls: intruder }), {
    address: served.address,
    path,
    to: 'b',
  })
  await t.rejects(dialled, /client\.global\.muster/, 'a bad certificate is worse than none')
})

function tlsOf(tls: WireTls | undefined) {
  return tls === undefined ? {} : { tls }
}

t.test('new files count for new connections, old connections go on', async (t) => {
  const folder = t.testdir()
  const next = await Authority.create('The next CA')
  const old = await authority.issue()
  const files = {
    a: await writeTlsFiles(folder, 'a', authority.cert, old),
    b: await writeTlsFiles(folder, 'b', authority.cert, old),
  }
  const a = await load(files.a)
  const b = await load(files.b)
  const { address } = await echoServer(t, { id: 'b', tls: b })
  const wire = wireOf({ id: 'a', tls: a })
  const connect = () => dial(wire, { address, path, to: 'b' })
  const first = await connect()
  const frames = collect(first)
  const bundle = authority.cert + next.cert
  const works = async (): Promise<void> => (await connect()).close('done')

  await writeFile(files.a.caFile, bundle)
  await a.certificate.reload()
  await works()
  await writeFile(files.b.caFile, bundle)
  await b.certificate.reload()
  await works()
  for (const [name, tls] of [
    ['a', a],
    ['b', b],
  ] as const) {
    await writeTlsFiles(folder, name, bundle, await next.issue())
    await tls.certificate.reload()
    await works()
  }
  await writeFile(files.b.caFile, next.cert)
  await b.certificate.reload()
  await works()
  await writeTlsFiles(folder, 'a', bundle, old)
  await a.certificate.reload()
  await t.rejects(connect(), 'the old authority is not believed any more')

  await appendFile(files.b.caFile, '-----BEGIN CERTIFICATE-----\nAAAA\n')
  await t.rejects(b.certificate.reload(), { code: 'invalid_argument' })
  await writeTlsFiles(folder, 'a', bundle, await next.issue())
  await a.certificate.reload()
  await works()

  first.write(Buffer.from('still here'))
  await until('the frame is back', () => frames.length === 1)
  first.close('done')
})

t.test('files that the others would refuse are refused at start, by name', async (t) => {
  const folder = t.testdir()
  const own = await authority.issue()
  const files = await writeTlsFiles(folder, 'own', authority.cert, own)
  const other = await writeTlsFiles(folder, 'other', stranger.cert, await stranger.issue())
  const with_ = async (name: string, holder: Holder): Promise<TlsFiles> =>
    writeTlsFiles(folder, name, authority.cert, await authority.issue(holder))
  const cut = await writeTlsFiles(folder, 'cut', own.cert.slice(0, 200), own)
  const namesake = await Authority.create()
  const fakes = await writeTlsFiles(folder, 'fakes', authority.cert + namesake.cert, own)
  const damaged = await writeTlsFiles(folder, 'damaged', own.cert.replace(/[A-Z]{3}/, 'AAA'), own)
  const rows: readonly (readonly [string, TlsFiles, string])[] = [
    ['no CA', { ...files, caFile: '/absent' }, 'tls.ca_file /absent cannot be read: ENOENT'],
    ['no key', { ...files, keyFile: '/absent' }, 'tls.key_file /absent cannot be read: ENOENT'],
    ['not a CA', { ...files, caFile: files.certFile }, 'holds a certificate that is no authority'],
    ['a key as CA', { ...files, caFile: files.keyFile }, 'holds no certificate in PEM'],
    ['a CA cut short', cut, `tls.ca_file ${cut.caFile}`],
    ['a damaged CA', damaged, damaged.caFile],
    ['two CAs of one name', fakes, 'holds two authorities that are both called CN=Muster Agent CA'],
    ['the wrong key', { ...files, keyFile: other.keyFile }, 'is not the key of tls.cert_file'],
    [
      'another authority',
      { ...files, caFile: other.caFile },
      `tls.cert_file ${files.certFile} is not from an authority in tls.ca_file ${other.caFile}`,
    ],
    ['expired', await with_('old', { days: [-9, -1] }), 'expired on '],
    ['not yet valid', await with_('new', { days: [2, 9] }), 'is valid only from '],
    [
      'a client',
      await with_('client', { role: 'client' }),
      "client.global.muster, DNS:localhost, IP Address:127.0.0.1, but a server here shows server.global.muster; 'muster tls cert create -server' makes one",
    ],
    ['another region', await with_('eu', { region: 'eu' }), 'server.eu.muster'],
  ]
  for (const [what, paths, text] of rows) {
    const refused = await load(paths).then(
      () => null,
      (error: unknown) => error,
    )
    t.match(refused, { code: 'invalid_argument' }, what)
    t.ok(refused instanceof Error && refused.message.includes(text), `${what}: ${String(refused)}`)
  }
})

t.test('who else is heard at the RPC port is told', (t) => {
  const rows = [
    [null, /^RPC is open: any process.*fetch the cluster key; set tls\.folder/],
    [{ upgradeMode: true, verifyServerHostname: true }, /^RPC is open: tls\.rpc_upgrade_mode/],
    [{ upgradeMode: false, verifyServerHostname: false }, /verify_server_hostname is false/],
  ] as const
  for (const [settings, warning] of rows) t.match(rpcWarningOf(settings), warning)
  t.equal(rpcWarningOf({ upgradeMode: false, verifyServerHostname: true }), null)
  t.end()
})
