/** What of a token's text is taken, and what is refused before any key or review is asked. */
import t from 'tap'
import { jwtBytesMax, parseJwt } from '../../../src/domains/orchestrator/jwt.ts'
import { by, encoded, legacy, pairOf, projected, signed } from './tokens.ts'

const pair = pairOf('P-256')
const nowMs = 1_800_000_000_000
const claims = projected(nowMs)
const header = { alg: 'ES256', kid: 'one' }

/** A token with this text where its header or its claims are. */
function withHeader(value: unknown): string {
  return `${encoded(value)}.${encoded(claims)}.AAAA`
}

function withClaims(value: unknown): string {
  return `${encoded(header)}.${encoded(value)}.AAAA`
}

void t.test('header and claims of a good token are read', async (t) => {
  const text = signed(header, claims, pair)
  t.match(parseJwt(text), { text, algorithm: 'ES256', keyId: 'one', claims })
  t.match(parseJwt(signed({ alg: 'ES256', kid: 7 }, legacy(), pair)), { keyId: null })
})

void t.test('each algorithm of the list is taken, and no other', async (t) => {
  for (const size of [256, 384, 512]) {
    for (const family of ['RS', 'ES', 'PS']) {
      const alg = `${family}${size}`
      t.equal(parseJwt(withHeader({ alg })).algorithm, alg)
    }
  }
  t.equal(parseJwt(withHeader({ alg: 'EdDSA' })).algorithm, 'EdDSA')
  const others = [
    'none',
    'None',
    'NONE',
    'nOnE',
    ' none',
    'none ',
    '',
    'HS256',
    'HS384',
    'HS512',
    'hs256',
    'dir',
    'RSA-OAEP',
    'ES256K',
    'rs256',
    'RS1',
    'RS256 ',
    null,
    1,
    true,
    ['RS256'],
    { RS256: 1 },
    'toString',
    '__proto__',
  ]
  for (const alg of others) {
    t.throws(() => parseJwt(withHeader({ alg })), by('algorithm'), JSON.stringify(alg))
  }
  t.throws(() => parseJwt(withHeader({})), by('algorithm'), 'without any')
})

void t.test('a critical header is refused, whatever it names', async (t) => {
  for (const crit of [['exp'], ['b64'], ['x'], [], null, 'exp', {}]) {
    t.throws(() => parseJwt(withHeader({ ...header, crit })), by('critical header'))
  }
  t.throws(() => parseJwt(withHeader({ ...header, b64: false })), by('critical header'))
})

void t.test(
  'a member that is given twice is refused, in whatever spelling and depth',
  async (t) => {
    const twins = [
      '{"alg":"ES256","alg":"RS256"}',
      '{"alg":"ES256","a\\u006cg":"RS256"}',
      '{"alg":"ES256","x":{"y":1,"y":1}}',
      '{"alg":"ES256","x":[{"y":1,"y":1}]}',
      '{"alg":"ES256","__proto__":1,"__proto__":2}',
    ]
    for (const twin of twins) {
      t.throws(() => parseJwt(withHeader(twin)), by('duplicate member'), twin)
      t.throws(() => parseJwt(withClaims(twin)), by('duplicate member'), twin)
    }
    const once = [
      '{"a":"a","b":"a"}',
      '{"a":{"a":["a","a"]},"b":"\\"a\\":"}',
      '{"a":"{\\"a\\":1,"}',
    ]
    for (const text of once) t.doesNotThrow(() => parseJwt(withClaims(text)), text)
  },
)

void t.test('a text that is no token is refused', async (t) => {
  const [head = '', body = '', tail = ''] = signed(header, claims, pair).split('.')
  const texts = [
    '',
    '.',
    '..',
    '...',
    head,
    `${head}.${body}`,
    `${head}.${body}.`,
    `.${body}.${tail}`,
    `${head}..${tail}`,
    `${head}.${body}.${tail}.`,
    `${head}.${body}.${tail}.${tail}.${tail}`,
    `${head}=.${body}.${tail}`,
    `${head}.${body}.${tail}=`,
    ` ${head}.${body}.${tail}`,
    `${head}.${body}.${tail}\n`,
    `${head}.${body}.+${tail}`,
    `${head}.${body}.${tail.slice(0, -1)}B`,
    `${head}.${body}.é`,
    `${head}.${encoded('[]')}.${tail}`,
    `${head}.${encoded('1')}.${tail}`,
    `${head}.${encoded('null')}.${tail}`,
    `${head}.${encoded('{')}.${tail}`,
    `${head}.${encoded(`${JSON.stringify(claims)} x`)}.${tail}`,
    `${head}.${encoded(`\ufeff${JSON.stringify(claims)}`)}.${tail}`,
    `${head}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString('base64url')}.${tail}`,
    `${head}.${encoded('{"a":'.repeat(40) + '1' + '}'.repeat(40))}.${tail}`,
  ]
  for (const text of texts) t.throws(() => parseJwt(text), by('form'), text)
})

void t.test('one that is too long is refused unread', async (t) => {
  const long = signed(header, { ...claims, more: 'x'.repeat(jwtBytesMax) }, pair)
  t.throws(() => parseJwt(long), by('size'))
  t.throws(() => parseJwt('.'.repeat(jwtBytesMax + 1)), by('size'))
})

void t.test('a refusal repeats nothing of the token', async (t) => {
  const secret = 'hidden-in-the-token'
  const texts = [withHeader({ alg: secret }), withHeader({ ...header, crit: [secret] })]
  texts.push(withClaims(`{"${secret}":1,"${secret}":2}`), withClaims(`{"${secret}`))
  for (const text of texts) {
    try {
      parseJwt(text)
      t.fail('it was taken')
    } catch (error) {
      t.notOk(String(error).includes(secret))
    }
  }
})
