/** Certificates and keys: what they say, who may read them, and that nothing is overwritten. */
import { X509Certificate } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { run } from './terminal.ts'

const dayMs = 24 * 60 * 60 * 1000

async function certificate(dir: string, name: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(join(dir, name)))
}

t.test('an authority, and certificates it signed', async (t) => {
  const dir = t.testdir()
  const make = (...args: string[]) => run(['tls', ...args, '-dir', dir])
  t.match(await make('ca', 'create', '-days', '30'), {
    code: 0,
    out: /muster-agent-ca\.pem\nIts private key: .*muster-agent-ca-key\.pem\n$/,
  })
  t.match(await make('cert', 'create', '-server', '-region', 'eu', '-days', '10'), {
    code: 0,
    err: '',
  })
  t.match(
    await make(
      'cert',
      'create',
      '-client',
      '-additional-dnsname',
      'a.example',
      '-additional-ipaddress',
      '::1',
    ),
    { code: 0, err: /It ends with its authority/ },
  )
  t.match(await make('cert', 'create', '-cli', '-days', '1'), { code: 0 })

  const authority = await certificate(dir, 'muster-agent-ca.pem')
  t.ok(authority.ca)
  t.match(authority.subject, /^CN=Muster Agent CA \d+$/)
  const issued = [
    [
      'eu-server-muster',
      'CN=server.eu.muster',
      'DNS:server.eu.muster, DNS:localhost, IP Address:127.0.0.1',
      10,
    ],
    [
      'global-client-muster',
      'CN=client.global.muster',
      'DNS:client.global.muster, DNS:localhost, DNS:a.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
      30,
    ],
    ['global-cli-muster', 'CN=cli.global.muster', 'DNS:cli.global.muster', 1],
  ] as const
  for (const [name, subject, names, days] of issued) {
    const leaf = await certificate(dir, `${name}.pem`)
    t.equal(leaf.subject, subject)
    t.equal(leaf.subjectAltName, names)
    t.notOk(leaf.ca)
    t.ok(leaf.verify(authority.publicKey), 'the authority signed it')
    t.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
    t.equal(leaf.signatureAlgorithm, 'ecdsa-with-SHA256')
    const life = (Date.parse(leaf.validTo) - Date.now()) / dayMs
    t.ok(Math.abs(life - days) < 0.1, `valid for ${days} days`)
    const serves = leaf.keyUsage?.includes('1.3.6.1.5.5.7.3.1')
    t.equal(serves, name !== 'global-cli-muster', 'only agents may stand for servers')
  }
  for (const file of [
    'muster-agent-ca.pem',
    'muster-agent-ca-key.pem',
    'eu-server-muster-key.pem',
  ]) {
    t.equal((await stat(join(dir, file))).mode & 0o777, 0o600, file)
  }
})

t.test('what is there is not overwritten', async (t) => {
  const dir = t.testdir({ 'muster-agent-ca-key.pem': 'precious', 'eu-server-muster.pem': 'dear' })
  const ca = await run(['tls', 'ca', 'create', '-dir', dir])
  t.match(ca, { code: 1, err: /muster-agent-ca-key\.pem exists and is not overwritten/ })
  t.equal(await readFile(join(dir, 'muster-agent-ca-key.pem'), 'utf8'), 'precious')
  const cert = await run(['tls', 'cert', 'create', '-server', '-region', 'eu', '-dir', dir])
  t.match(cert, { code: 1, err: /eu-server-muster\.pem exists/ })
})

t.test('an authority that cannot sign is refused', async (t) => {
  const dir = t.testdir()
  const make = (...args: string[]) => run(['tls', 'cert', 'create', '-dir', dir, ...args])
  t.match(await make('-server'), { code: 1, err: /'muster tls ca create' makes an authority/ })
  await run(['tls', 'ca', 'create', '-dir', dir])
  const key = join(dir, 'muster-agent-ca-key.pem')
  t.match(await make('-server'), { code: 0 })
  const leaf = join(dir, 'global-server-muster')
  t.match(await make('-client', '-ca', `${leaf}.pem`, '-key', `${leaf}-key.pem`), {
    code: 1,
    err: /this is no authority/,
  })
  t.match(await make('-client', '-key', `${leaf}-key.pem`), { code: 1, err: /is not that of this/ })
  await writeFile(key, 'rubbish')
  t.match(await make('-client'), { code: 1, err: /holds no private key in PEM/ })
})

const misuses: readonly (readonly [string, RegExp])[] = [
  ['cert create', /by one of -server, -client, -cli/],
  ['cert create -server -cli', /by one of -server, -client, -cli/],
  ['cert create -server -region a,CN=b', /-region is 1 to 63 letters/],
  ['cert create -server -additional-dnsname a..b', /"a\.\.b" is no DNS name/],
  ['cert create -server -additional-ipaddress 1.2.3', /"1\.2\.3" is no IP address/],
  ['cert create -server -days 0', /-days must be a whole number from 1/],
  ['ca create -common-name a,b', /-common-name is 1 to 63 letters/],
]

for (const [line, expected] of misuses) {
  t.test(`muster tls ${line} is a mistake`, async (t) => {
    t.match(await run(['tls', ...line.split(' '), '-dir', t.testdir()]), { code: 2, err: expected })
  })
}

t.test('a key for gossip has 32 random bytes', async (t) => {
  const first = await run(['gossip', 'keygen'])
  const second = await run(['operator', 'gossip', 'keyring', 'generate'])
  for (const { code, out } of [first, second]) {
    t.equal(code, 0)
    t.match(out, /^[A-Za-z0-9+/]{43}=\n$/)
  }
  t.not(first.out, second.out)
})
