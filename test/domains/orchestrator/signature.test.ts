/** Which tokens the configured keys verify, and how the keys are read. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import { parseJwt } from '../../../src/domains/orchestrator/jwt.ts'
import { checkAuthorities, verificationKey } from '../../../src/domains/orchestrator/keys.ts'
import { verifySignature } from '../../../src/domains/orchestrator/signature.ts'
import { lifeOf, makeAuthority } from '../../../src/tls/certificates.ts'
import {
  by,
  encoded,
  pairOf,
  privatePem,
  projected,
  publicPem,
  signed,
  signedByHmac,
} from './tokens.ts'

const rsa = pairOf('rsa')
const p256 = pairOf('P-256')
const p384 = pairOf('P-384')
const p521 = pairOf('P-521')
const ed25519 = pairOf('ed25519')
const all = [rsa, p256, p384, p521, ed25519]
const claims = projected(1_800_000_000_000)

async function verifies(text: string, pems: readonly string[]): Promise<void> {
  await verifySignature(
    parseJwt(text),
    pems.map((pem) => verificationKey(pem)),
  )
}

void t.test('each algorithm verifies with a key of its kind, among others', async (t) => {
  const algorithms = [
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => [alg, rsa] as const),
    ...([
      ['ES256', p256],
      ['ES384', p384],
      ['ES512', p521],
      ['EdDSA', ed25519],
    ] as const),
  ]
  for (const [alg, pair] of algorithms) {
    const text = signed({ alg }, claims, pair)
    await t.resolves(verifies(text, [publicPem(pair)]), alg)
    await t.resolves(verifies(text, all.map(publicPem)), `${alg} among others`)
    const others = all.filter((other) => other !== pair).map(publicPem)
    await t.rejects(verifies(text, others), by('algorithm'), `${alg} without its key`)
  }
})

void t.test('the key that the header names is a hint, and no more', async (t) => {
  const other = pairOf('P-256')
  const pems = [publicPem(other), publicPem(p256)]
  const kid = verificationKey(publicPem(p256)).id
  for (const named of [kid, verificationKey(publicPem(other)).id, 'unknown']) {
    await t.resolves(verifies(signed({ alg: 'ES256', kid: named }, claims, p256), pems), named)
  }
})

void t.test('a token that another key signed is refused', async (t) => {
  const text = signed({ alg: 'ES256' }, claims, pairOf('P-256'))
  await t.rejects(verifies(text, [publicPem(p256)]), by('signature'))
})

void t.test('a key that the header carries verifies nothing', async (t) => {
  const own = pairOf('P-256')
  const jwk = own.publicKey.export({ format: 'jwk' })
  const { cert } = await makeAuthority('mine', lifeOf(Date.now(), 1))
  const x5c = [cert.replaceAll(/-----.*-----|\s/g, '')]
  const smuggled = [
    { jwk },
    { x5c },
    { jku: 'https://127.0.0.1:1/keys' },
    { x5u: 'https://127.0.0.1:1/c' },
  ]
  for (const extra of smuggled) {
    const name = Object.keys(extra).join()
    const text = signed({ alg: 'ES256', ...extra }, claims, own)
    await t.rejects(verifies(text, [publicPem(p256)]), by('signature'), name)
    const good = signed({ alg: 'ES256', ...extra }, claims, p256)
    await t.resolves(verifies(good, [publicPem(p256)]), `${name} beside a good signature`)
  }
})

void t.test(
  'a public key is no shared secret, and an algorithm not for another kind of key',
  async (t) => {
    for (const pem of [publicPem(rsa), publicPem(rsa).trim()]) {
      t.throws(() => parseJwt(signedByHmac({ alg: 'HS256' }, claims, pem)), by('algorithm'))
      const named = signedByHmac({ alg: 'RS256' }, claims, pem)
      await t.rejects(verifies(named, [publicPem(rsa)]), by('signature'))
    }
    // Right keys and right bytes under the name of another algorithm.
    const swapped = [
      ['RS256', 'PS256', rsa],
      ['PS256', 'RS256', rsa],
      ['RS512', 'RS256', rsa],
      ['ES384', 'ES256', p256],
      ['EdDSA', 'ES256', p256],
    ] as const
    for (const [alg, made, pair] of swapped) {
      await t.rejects(
        verifies(signed({ alg }, claims, pair, made), [publicPem(pair)]),
        `${made} as ${alg}`,
      )
    }
  },
)

void t.test('a token that was altered is refused', async (t) => {
  for (const pair of [rsa, p256, ed25519]) {
    const alg = pair === rsa ? 'RS256' : pair === p256 ? 'ES256' : 'EdDSA'
    const [head = '', , tail = ''] = signed({ alg }, claims, pair).split('.')
    const body = encoded({ ...claims, sub: 'system:serviceaccount:shop:owner' })
    await t.rejects(verifies(`${head}.${body}.${tail}`, [publicPem(pair)]), by('signature'))
    const bytes = Buffer.from(tail, 'base64url')
    for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
      const other = Buffer.from(bytes)
      other[at] = (other[at] ?? 0) ^ 1
      const text = `${head}.${encoded(claims)}.${other.toString('base64url')}`
      await t.rejects(verifies(text, [publicPem(pair)]), by('signature'))
    }
    const short = `${head}.${encoded(claims)}.${bytes.subarray(1).toString('base64url')}`
    await t.rejects(verifies(short, [publicPem(pair)]), by('signature'))
  }
  const zeros = `${encoded({ alg: 'ES256' })}.${encoded(claims)}.${Buffer.alloc(64).toString('base64url')}`
  await t.rejects(verifies(zeros, [publicPem(p256)]), by('signature'), 'nothing but zeros')
})

void t.test('keys are public keys or certificates in PEM', async (t) => {
  const { cert } = await makeAuthority('orchestrator', lifeOf(Date.now(), 1))
  t.same(verificationKey(cert).algorithms, ['ES256'])
  const pkcs1 = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }) as string
  t.equal(verificationKey(pkcs1).id, verificationKey(publicPem(rsa)).id)
  t.match(verificationKey(`a comment\n${publicPem(p256)}`), { algorithms: ['ES256'] })
})

void t.test('private keys and rubbish are refused, and not repeated', async (t) => {
  const pem = publicPem(p256)
  const cases: readonly (readonly [string, string])[] = [
    ['a private key', privatePem(p256)],
    ['an RSA private key', rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string],
    ['an EC private key', p256.privateKey.export({ type: 'sec1', format: 'pem' }) as string],
    ['a private key beside a public one', `${pem}${privatePem(p256)}`],
    ['two keys', `${pem}${publicPem(rsa)}`],
    ['nothing', ''],
    ['rubbish', 'rubbish'],
    ['one cut short', pem.slice(0, 60)],
    ['one that lost its last line', pem.replace(/-----END.*/, '')],
    ['bytes that are no key', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'],
    [
      'bytes that are no certificate',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    ],
    ['another kind of block', pem.replaceAll('PUBLIC KEY', 'CERTIFICATE REQUEST')],
    ['a private key by another name', privatePem(p256).replaceAll('PRIVATE KEY', 'PUBLIC KEY')],
    ['a short RSA key', publicPem(generateKeyPairSync('rsa', { modulusLength: 1_024 }))],
    [
      'an RSA key with restrictions',
      publicPem(generateKeyPairSync('rsa-pss', { modulusLength: 2_048 })),
    ],
    [
      'a curve without algorithm',
      publicPem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
    ],
    ['Ed448', publicPem(generateKeyPairSync('ed448'))],
    ['X25519', publicPem(generateKeyPairSync('x25519'))],
    ['DSA', publicPem(generateKeyPairSync('dsa', { modulusLength: 2_048, divisorLength: 256 }))],
  ]
  for (const [name, text] of cases) refusedQuietly(t, name, text, () => verificationKey(text))
})

function refusedQuietly(t: Test, name: string, text: string, read: () => unknown): void {
  try {
    read()
    t.fail(`${name} was taken`)
  } catch (error) {
    t.match(error, { code: 'invalid_argument' }, name)
    const lines = text.split('\n').filter((line) => line.length > 20 && !line.includes('-----'))
    t.notOk(lines.some((line) => String(error).includes(line)))
  }
}

void t.test('authorities are certificates and nothing else', async (t) => {
  const one = await makeAuthority('one', lifeOf(Date.now(), 1))
  const two = await makeAuthority('two', lifeOf(Date.now(), 1))
  t.doesNotThrow(() => checkAuthorities(`${one.cert}${two.cert}`, 'ca'))
  const cases = {
    nothing: '',
    rubbish: 'rubbish',
    'a key': one.key,
    'a certificate with its key': `${one.cert}${one.key}`,
    'a public key': createPublicKey(one.key).export({ type: 'spki', format: 'pem' }) as string,
    'one of two is damaged': `${one.cert}${two.cert.replace('MI', 'AA')}`,
    'one of two is cut': `${one.cert}${two.cert.slice(0, 100)}`,
  }
  for (const [name, text] of Object.entries(cases)) {
    refusedQuietly(t, name, text, () => checkAuthorities(text, 'ca'))
  }
})
