/** Every token that must not let anybody in: one status, one text, and nothing of it anywhere. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { jwtBytesMax } from '../../../src/domains/orchestrator/jwt.ts'
import type { Logger } from '../../../src/lib/log.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { amount, seed } from '../../support/randomness.ts'
import { integer, mutated, pick } from '../../support/fuzz.ts'
import { goodReview, reviewServer, sendJson } from './review-server.ts'
import { issued, serviceOfOne } from './service-of-one.ts'
import { account, encoded, pairOf, projected, publicPem, signed, signedByHmac } from './tokens.ts'

void t.test('tokens that are refused before anybody is asked', async (t) => {
  const { configure, logIn, jwt, pair, orchestrator } = await serviceOfOne(t)
  const rsa = pairOf('rsa')
  await configure({ pem_keys: [publicPem(pair), publicPem(rsa)] })
  const nowMs = Date.now()
  const now = Math.floor(nowMs / 1_000)
  const claims = projected(nowMs)
  const own = pairOf('P-256')
  const [head = '', body = '', tail = ''] = jwt().split('.')
  const of = (header: unknown) => `${encoded(header)}.${body}.${tail}`
  const cases: Readonly<Record<string, string>> = {
    'a public key as a shared secret': signedByHmac({ alg: 'HS256' }, claims, publicPem(rsa)),
    'a shared secret as RS256': signedByHmac({ alg: 'RS256' }, claims, publicPem(rsa)),
    'an EC signature called RS256': of({ alg: 'RS256' }),
    'an EC signature of another curve': of({ alg: 'ES384' }),
    none: `${encoded({ alg: 'none' })}.${body}.`,
    'none with a signature': of({ alg: 'none' }),
    None: of({ alg: 'None' }),
    nOnE: of({ alg: 'nOnE' }),
    'no algorithm': of({ typ: 'JWT' }),
    'a critical header': signed({ alg: 'ES256', crit: ['exp'] }, claims, pair),
    'an unknown critical header': signed({ alg: 'ES256', crit: ['x'], x: 1 }, claims, pair),
    expired: jwt({ exp: now - 61 }),
    'not yet valid': jwt({ nbf: now + 120 }),
    'issued in the future': jwt({ iat: now + 120 }),
    'tampered claims': `${head}.${encoded({ ...claims, sub: 'x' })}.${tail}`,
    'a tampered signature': `${head}.${body}.${tail.startsWith('A') ? 'B' : 'A'}${tail.slice(1)}`,
    'the signature of another key': signed({ alg: 'ES256' }, claims, own),
    oversized: jwt({ more: 'x'.repeat(jwtBytesMax) }),
    'a claim twice': signed(
      { alg: 'ES256' },
      JSON.stringify(claims).replace('{', '{"exp":99999999999,'),
      pair,
    ),
    'a header twice': signed('{"alg":"none","alg":"ES256"}', claims, pair, 'ES256'),
    'a JWK in the header': signed(
      { alg: 'ES256', jwk: own.publicKey.export({ format: 'jwk' }) },
      claims,
      own,
    ),
    'a jku in the header': signed({ alg: 'ES256', jku: orchestrator.url }, claims, own),
    'another namespace': jwt({
      'kubernetes.io': { ...claims['kubernetes.io'], namespace: 'other' },
    }),
    'another account': jwt({
      'kubernetes.io': { ...claims['kubernetes.io'], serviceaccount: { name: 'x', uid: 'u' } },
    }),
    'no uid': jwt({
      'kubernetes.io': { ...claims['kubernetes.io'], serviceaccount: { name: 'till' } },
    }),
    'no account': signed({ alg: 'ES256' }, { iss: 'x' }, pair),
    rubbish: 'rubbish',
    'a nested token': jwt().split('.').concat(['a', 'b']).join('.'),
  }
  for (const [name, token] of Object.entries(cases)) {
    const answer = await logIn(token)
    t.match(answer, { status: 403, body: '{"errors":["permission denied"]}' }, name)
  }
  t.equal(orchestrator.reviews.length, 0, 'no API server was bothered')
  issued(await logIn(jwt()))
})

void t.test('answers of a review that let nobody in', async (t) => {
  const { configure, logIn, jwt, orchestrator } = await serviceOfOne(t)
  const elsewhere = await reviewServer(t)
  await configure()
  const good = goodReview(account, ['https://orchestrator.test'])
  const answers: Readonly<Record<string, (response: Parameters<typeof sendJson>[0]) => void>> = {
    'another user': (response) => sendJson(response, goodReview({ ...account, name: 'owner' })),
    'a redirect': (response) => {
      response.writeHead(302, { location: elsewhere.url })
      response.end(JSON.stringify(good))
    },
    'a refusal': (response) => sendJson(response, { kind: 'Status', status: 'Failure' }, 403),
    'an error': (response) => sendJson(response, { ...good, status: { error: 'x' } }),
    'not authenticated': (response) => sendJson(response, { kind: 'TokenReview', status: {} }),
    'no JSON': (response) => sendJson(response, 'hello'),
    'nothing at all': (response) => response.destroy(),
  }
  for (const [name, answer] of Object.entries(answers)) {
    orchestrator.answer((_, response) => answer(response))
    t.match(await logIn(jwt()), { status: 403, body: '{"errors":["permission denied"]}' }, name)
  }
  t.equal(elsewhere.reviews.length, 0)
  orchestrator.answer((_, response) => sendJson(response, good))
  issued(await logIn(jwt()))
})

void t.test(
  'nothing of a token, nor of the reviewer’s, is logged or stored in the clear',
  async (t) => {
    const lines: string[] = []
    const keep = (text: string, more?: unknown): void => {
      lines.push(`${text} ${JSON.stringify(more)}`)
    }
    const log: Logger = {
      ...silentLogger,
      debug: keep,
      info: keep,
      warn: keep,
      error: keep,
      named: () => log,
    }
    const { server, configure, logIn, jwt } = await serviceOfOne(t, { log })
    const reviewer = 'reviewer-token-in-the-clear'
    await configure({ token_reviewer_jwt: reviewer })
    const token = jwt()
    issued(await logIn(token))
    const expired = jwt({ exp: 1 })
    await logIn(expired)
    await logIn(`${token}x`)
    const said = lines.join('\n')
    t.match(said, /a login by a service account was refused .*the token has expired/)
    const parts = [token, expired].flatMap((text) => text.split('.').slice(1))
    for (const secret of [reviewer, ...parts]) t.notOk(said.includes(secret))
    await server.composed.stop()
    const folder = join(server.folder, 'state')
    for (const name of await readdir(folder, { recursive: true })) {
      const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
      for (const secret of [reviewer, ...parts]) t.notOk(bytes.includes(secret), name)
    }
  },
)

void t.test(`tokens altered at random let nobody in, seed ${seed}`, async (t) => {
  // One server takes no more failures of one address than that within a minute.
  for (let server = 0; server < amount('FUZZ_SERVERS', { gate: 1, long: 4 }); server += 1) {
    await t.test(`server ${server}`, alteredTokens)
  }
})

async function alteredTokens(t: Test): Promise<void> {
  const { configure, logIn, jwt, pair } = await serviceOfOne(t)
  await configure()
  const good = jwt()
  const parts = good.split('.')
  const seen = new Set<number>()
  for (let round = 0; round < 400; round += 1) {
    const { text, isSigned } = altered(good, parts, pair)
    if (text === good) continue
    const { status } = await logIn(text)
    seen.add(status)
    // An empty one is none at all.
    const refusal = text === '' ? 400 : 403
    // What is signed may still be good: not every claim is compared.
    if (status !== refusal && !(isSigned && status === 200))
      t.fail(`${status} for ${JSON.stringify(text)}`)
  }
  t.ok(seen.has(403))
  issued(await logIn(good))
}

/** Bytes of the text, bytes under the base64url, or claims that are signed and yet wrong. */
function altered(good: string, parts: readonly string[], pair: ReturnType<typeof pairOf>) {
  switch (integer(0, 3)) {
    case 0:
      return { text: mutated(Buffer.from(good)).toString('latin1'), isSigned: false }
    case 1: {
      const at = integer(0, 3)
      const bytes = mutated(Buffer.from(parts[at] ?? '', 'base64url'))
      const all = parts.map((part, place) => (place === at ? bytes.toString('base64url') : part))
      return { text: all.join('.'), isSigned: false }
    }
    default: {
      const claims = Buffer.from(parts[1] ?? '', 'base64url').toString('utf8')
      const strange = pick([
        'null',
        '"x"',
        '{}',
        '[]',
        '-1',
        '1e999',
        '"\\ud800"',
        '{"a":{"a":[]}}',
      ])
      const [value] = pick([...claims.matchAll(/(?<=:)("[^"]*"|\d+|\{|\[)/g)])
      return {
        text: signed({ alg: 'ES256' }, claims.replace(value, strange), pair),
        isSigned: true,
      }
    }
  }
}
