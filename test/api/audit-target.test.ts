/** What is shown of a request's path, query and error, with secrets planted wherever a client may put one. */
import t from 'tap'
import { servedBy, shownError, shownTarget, targetLengthMax } from '../../src/api/audit-target.ts'

const token = 'T0ken-of-the_caller.9f8e7d6c5b4a'
const uuid = '7a4b1c2d-0000-4000-8000-00000000abcd'

t.test('a path and its known parameters are shown as they were sent', async (t) => {
  const cases = [
    ['/v1/kv/app/db?index=7&wait=5m&ns=team&recurse', '/v1/kv/*'],
    [`/v1/kv/app/db?acquire=${uuid}&flags=&stale=true&keys&max_stale=1.5s`, '/v1/kv/*'],
    ['/v1/var/app%2Fdb?cas=3', '/v1/var/*'],
    [`/v1/session/renew/${uuid}?dc=dc1`, '/v1/session/renew/:uuid'],
    [`/v1/acl/token/${uuid}`, '/v1/acl/token/:accessor'],
    ['/v1/catalog/service/web?tag=a&tag=b', '/v1/catalog/service/*'],
    ['/v1/agent/join/10.0.0.2%3A4648', '/v1/agent/join/:address'],
    ['/v1/agent/self?', '/v1/agent/self'],
    ['/v1/nowhere', null],
  ] as const
  for (const [url, route] of cases) t.equal(shownTarget(url, route, token), url)
})

t.test('no secret is shown, wherever it was put', async (t) => {
  const other = 'an-0ther_tokens.secret-0123456789abcdef'
  const cases = [
    [`/v1/kv/x?token=${token}`, '/v1/kv/*'],
    [`/v1/kv/x?token=${other}&raw`, '/v1/kv/*'],
    [`/v1/kv/x?Token=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?%74oken=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?tokne=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?password=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?${other}`, '/v1/kv/*'],
    [`/v1/kv/x?${other}=1`, '/v1/kv/*'],
    [`/v1/kv/x?ns=a;token=${token}`, '/v1/kv/*'],
    [`/v1/acl/tokens?filter=SecretID%3D%3D%22${other}%22`, '/v1/acl/tokens'],
    [`/v1/agent/check/pass/c?note=${other}`, '/v1/agent/check/pass/*'],
    [`/v1/kv/x?index=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?wait=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?recurse=${other}`, '/v1/kv/*'],
    [`/v1/kv/x?acquire=${other}`, '/v1/kv/*'],
    [`/v1/kv/${token}`, '/v1/kv/*'],
    [`/v1/kv/x?ns=${token}`, '/v1/kv/*'],
    [`/v1/kv/x?ns=${encodeURIComponent(token).replace('T', '%54')}`, '/v1/kv/*'],
    [`/v1/kv/${token.replace('e', '%65')}`, '/v1/kv/*'],
    [`/v1/acl/token/${other}`, '/v1/acl/token/:accessor'],
    [`/v1/agent/join/${other}`, '/v1/agent/join/:address'],
    [`/v1/agent/join/${other.replace('.', '%2E')}:4648?wan=1`, '/v1/agent/join/:address'],
    [`/v1/session/info/${other}`, '/v1/session/info/:uuid'],
    [`/v1/acl/info/${other}`, null],
    [`/v1/auth/login/${other}?x=${other}`, null],
  ] as const
  for (const [url, route] of cases) {
    const shown = shownTarget(url, route, token)
    t.notOk(/of-the_caller|tokens\.secret|0123456789abcdef/.test(shown), `${url}: ${shown}`)
    t.ok(shown.includes('<redacted>'), shown)
  }
})

t.test('what is shown is bounded', async (t) => {
  const long = shownTarget(`/v1/kv/${'k'.repeat(10_000)}`, '/v1/kv/*', null)
  t.equal(long.length, targetLengthMax + 1)
  t.ok(long.endsWith('…'))
  t.ok(shownTarget(`/v1/kv/x?ns=${'n'.repeat(10_000)}`, '/v1/kv/*', null).length < 200)
  t.ok(shownError('e'.repeat(10_000), null).length < 600)
})

t.test('an error is shown without what it repeats of the request', async (t) => {
  const cases = [
    [
      'query parameter index must be a number, not "s3cret"',
      'query parameter index must be a number, not "…"',
    ],
    ['Name must be text, not "a \\" s3cret"', 'Name must be text, not "…"'],
    ['cut in the middle: "s3cret', 'cut in the middle: "…"'],
    ['"s3cret" and "s3cret"', '"…" and "…"'],
    [`no session ${token}`, 'no session <redacted>'],
    ['Permission denied', 'Permission denied'],
  ] as const
  for (const [text, shown] of cases) t.equal(shownError(text, token), shown)
})

t.test('a token too short to be a secret hides nothing', async (t) => {
  t.equal(shownTarget('/v1/kv/a', '/v1/kv/*', 'a'), '/v1/kv/a')
})

t.test("a path below the mounts that none of them has is no one's", async (t) => {
  const other = 'an-0ther_tokens.secret-0123456789abcdef'
  for (const path of ['token/renew', 'token/lookup', '/token/revoke', 'tok%65n/revoke-orphan']) {
    const route = servedBy({ route: '/v1/auth/*', status: 404 })
    t.notMatch(shownTarget(`/v1/auth/${path}/${other}`, route, token), other)
  }
  const route = servedBy({ route: '/v1/auth/*', status: 400 })
  const login = '/v1/auth/ldap/login/somebody-with-quite-a-long-name'
  t.equal(shownTarget(login, route, token), login)
  t.equal(servedBy({ route: '/v1/kv/*', status: 404 }), '/v1/kv/*')
})
