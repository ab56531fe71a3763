/** `muster tls bootstrap`: what it makes, what it renews, and what it refuses before it writes anything. */
import { X509Certificate } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Certificate } from '../../src/lib/certificate.ts'
import { bearsName } from '../../src/lib/certificate-names.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { loadRpcTls } from '../../src/server/rpc-tls.ts'
import { bootstrapHostsMax } from '../../src/tls/bootstrap.ts'
import { run } from '../cli/terminal.ts'

const dayMs = 24 * 60 * 60 * 1000

function bootstrap(dir: string, ...more: string[]) {
  return run(['tls', 'bootstrap', '-dir', dir, ...more])
}

async function certificate(dir: string, holder: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(join(dir, holder, 'cert.pem')))
}

async function everything(dir: string): Promise<Readonly<Record<string, string>>> {
  const files = await readdir(dir, { recursive: true, withFileTypes: true })
  const paths = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const texts = paths.map(async (path) => [path, await readFile(path, 'utf8')] as const)
  return Object.fromEntries(await Promise.all(texts))
}

t.test('an authority, and a folder for each server and for client agents', async (t) => {
  const dir = join(t.testdir(), 'deep', 'tls')
  const { code, out, err } = await bootstrap(dir, '-host', '10.0.0.1', '-host', 'api.example')
  t.same([code, err], [0, ''])
  t.match(out, /server-3 +for one server\n.*client +for every client agent\n/)
  t.match(out, /tls \{ folder = "\/etc\/muster\/tls" \}/)
  const holders = ['server-1', 'server-2', 'server-3', 'client']
  t.same((await readdir(dir)).sort(), ['authority', ...holders].sort())
  const authorityPem = await readFile(join(dir, 'authority', 'muster-agent-ca.pem'), 'utf8')
  const authority = new X509Certificate(authorityPem)
  const keys = new Set<string>()
  for (const holder of holders) {
    const folder = join(dir, holder)
    t.same((await readdir(folder)).sort(), ['ca.pem', 'cert.pem', 'key.pem'])
    t.equal(await readFile(join(folder, 'ca.pem'), 'utf8'), authorityPem)
    keys.add(await readFile(join(folder, 'key.pem'), 'utf8'))
    const leaf = await certificate(dir, holder)
    const role = holder === 'client' ? 'client' : 'server'
    t.equal(
      leaf.subjectAltName,
      `DNS:${role}.global.muster, DNS:localhost, DNS:api.example, IP Address:127.0.0.1, IP Address:10.0.0.1`,
    )
    t.ok(leaf.verify(authority.publicKey))
    t.notOk(leaf.ca)
    t.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
    t.ok(Math.abs((Date.parse(leaf.validTo) - Date.now()) / dayMs - 365) < 0.1)
    t.equal((await stat(folder)).mode & 0o777, 0o700, holder)
    const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
    await Certificate.load({ ...files, caFile: join(folder, 'ca.pem') })
  }
  t.equal(keys.size, holders.length, 'each has a key of its own')
  t.equal(bearsName(await certificate(dir, 'client'), 'server.global.muster'), false)
  const ofAuthority = await readFile(join(dir, 'authority', 'muster-agent-ca-key.pem'), 'utf8')
  for (const [path, text] of Object.entries(await everything(dir))) {
    t.equal((await stat(path)).mode & 0o777, 0o600, path)
    t.equal(text === ofAuthority, path.endsWith('-ca-key.pem'), 'the key stays where it is')
  }
  const folder = join(dir, 'server-2')
  const settings = {
    caFile: join(folder, 'ca.pem'),
    certFile: join(folder, 'cert.pem'),
    keyFile: join(folder, 'key.pem'),
    verifyServerHostname: true,
    upgradeMode: false,
    minVersion: 'TLSv1.2',
  } as const
  await loadRpcTls({ settings, region: 'global', clock: systemClock, logger: silentLogger })
})

t.test('again it renews what is there, adds what is wanted, and keeps the authority', async (t) => {
  const dir = t.testdir()
  await bootstrap(dir, '-servers', '1', '-region', 'eu', '-host', '::1', '-days', '10')
  const before = await everything(dir)
  t.equal((await readdir(dir)).length, 3)
  const again = await bootstrap(dir, '-servers', '3', '-host', 'new.example')
  t.match(again, { code: 0, out: /Region eu, valid until .*Copy each folder over the one/s })
  const after = await everything(dir)
  for (const [path, text] of Object.entries(before)) {
    const stays = /ca(-key)?\.pem$/.test(path)
    t.equal(after[path] === text, stays, path)
  }
  t.equal(Object.keys(after).length, Object.keys(before).length + 6)
  for (const holder of ['server-1', 'server-3']) {
    const { subjectAltName, validTo } = await certificate(dir, holder)
    t.match(subjectAltName, /^DNS:server\.eu\.muster, DNS:localhost, DNS:new\.example, /)
    t.match(subjectAltName, /IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1$/)
    t.ok(Math.abs((Date.parse(validTo) - Date.now()) / dayMs - 365) < 0.1, 'the default again')
  }
  await bootstrap(dir, '-servers', '1', '-host', '::1')
  t.equal((await certificate(dir, 'server-3')).subjectAltName?.split('0:1').length, 2, 'once')
  t.match(await bootstrap(dir, '-days', '4000'), { code: 0, err: /They end with their authority/ })
})

t.test('what does not fit is refused, and nothing is written', async (t) => {
  const cases: readonly (readonly [string, (dir: string) => Promise<unknown>, string[], RegExp])[] =
    [
      ['another region', () => Promise.resolve(), ['-region', 'eu'], /no server of region eu/],
      [
        'an authority without its key',
        (dir) => rm(join(dir, 'authority', 'muster-agent-ca-key.pem')),
        [],
        /muster-agent-ca-key\.pem is missing: put the authority of these certificates back/,
      ],
      [
        'an authority that was moved away',
        (dir) => rename(join(dir, 'authority'), join(dir, 'moved')),
        [],
        /muster-agent-ca\.pem is missing/,
      ],
      [
        'a damaged certificate',
        (dir) => writeFile(join(dir, 'server-2', 'cert.pem'), 'rubbish'),
        [],
        /cert\.pem is no certificate that could be renewed/,
      ],
      [
        'a name that says what an agent is',
        () => Promise.resolve(),
        ['-host', 'server.global.muster'],
        /server\.global\.muster says what an agent is/,
      ],
      [
        'a name of all of them',
        () => Promise.resolve(),
        ['-host', '*.Muster'],
        /says what an agent is/,
      ],
      [
        'too many hosts with those that are there',
        () => Promise.resolve(),
        hosts(bootstrapHostsMax, 'b'),
        new RegExp(`would bear ${bootstrapHostsMax + 1} hosts; at most ${bootstrapHostsMax} fit`),
      ],
    ]
  for (const [what, change, args, reason] of cases) {
    await t.test(what, async (t) => {
      const dir = t.testdir()
      await bootstrap(dir, '-host', 'a.example')
      await change(dir)
      const before = await everything(dir)
      t.match(await bootstrap(dir, ...args), { code: 1, err: reason })
      t.same(await everything(dir), before)
    })
  }
})

function hosts(count: number, letter: string): string[] {
  return Array.from({ length: count }, (_, at) => ['-host', `${letter}${at}.example`]).flat()
}

const misuses: readonly (readonly [string[], RegExp])[] = [
  [['-servers', '0'], /-servers must be a whole number from 1/],
  [['-servers', '10'], /-servers is 1 to 9/],
  [['-region', 'a,b'], /-region is 1 to 63 letters/],
  [['-host', 'a..b'], /"a\.\.b" is no DNS name and no IP address/],
  [['-days', '0'], /-days must be a whole number from 1/],
  [hosts(bootstrapHostsMax + 1, 'a'), /at most 64 times -host/],
]

for (const [args, reason] of misuses) {
  t.test(`muster tls bootstrap ${args.slice(0, 2).join(' ')} is a mistake`, async (t: Test) => {
    const dir = t.testdir()
    t.match(await bootstrap(dir, ...args), { code: 2, err: reason })
    t.same(await readdir(dir), [])
  })
}

t.test('a folder that cannot be written is named', async (t) => {
  const dir = t.testdir({ file: '' })
  t.match(await bootstrap(join(dir, 'file')), { code: 1, err: /file\/authority: / })
  await mkdir(join(dir, 'half', 'server-1', 'cert.pem'), { recursive: true })
  t.match(await bootstrap(join(dir, 'half')), { code: 1, err: /cert\.pem is no certificate/ })
})
