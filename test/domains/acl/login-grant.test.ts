/** Tokens of logins: made with a lease, renewed, and gone with their mount. */
import t from 'tap'
import { writtenToken } from '../../../src/domains/acl/issue.ts'
import { createIssuedToken } from '../../../src/domains/acl/issued-commands.ts'
import { drawLoginToken, type LoginGrant } from '../../../src/domains/acl/login-grant.ts'
import { noTokenParameters } from '../../../src/domains/acl/token-parameters-model.ts'
import { systemLifetimes } from '../../../src/domains/acl/lifetime-model.ts'
import { loginRenewal } from '../../../src/domains/acl/services.ts'
import { manyPoliciesVersion } from '../../../src/domains/acl/model.ts'
import { tokenByAccessor, tokenByHash } from '../../../src/domains/acl/queries.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

const grant: LoginGrant = {
  kind: 'service',
  policies: ['nobody-wrote-it', 'Default'],
  displayName: 'ldap-ada',
  path: 'auth/ldap/login/ada',
  metadata: [['username', 'ada']],
  issuer: { mount: 'ldap', mountId: 'm1', alias: 'ada' },
  entityId: null,
  parameters: { ...noTokenParameters, ttlMs: 60_000, numUses: 2, boundCidrs: ['10.0.0.0/8'] },
  lifetimes: systemLifetimes,
  remote: '10.1.2.3',
}

async function issue(server: ServerOfOne, more: Partial<LoginGrant> = {}) {
  const { token, warnings } = drawLoginToken({ ...grant, ...more }, Date.now(), commandVersion)
  const propose = typedPropose((command) => server.propose(command))
  const { outcome } = await propose(createIssuedToken, token)
  return { row: writtenToken(outcome), warnings }
}

void t.test('a login gets a token with its lease, whatever its policies are', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const { row, warnings } = await issue(server)
  t.same(warnings, [])
  t.match(row, {
    name: 'ldap-ada',
    policies: ['default', 'nobody-wrote-it'],
    path: 'auth/ldap/login/ada',
    usesLeft: 2,
    boundCidrs: ['10.0.0.0/8'],
    lease: { ttlMs: 60_000, renewable: true, periodMs: null },
  })
  t.equal(row.expirationTimeMs, row.createTimeMs + 60_000)
  t.same(tokenByHash(server.machine.reader(), row.hash), row)
  const nowMs = row.createTimeMs + 1
  const args = { accessor: row.accessor, nowMs, expirationTimeMs: nowMs + 90_000, periodMs: null }
  const { outcome } = await server.propose({ type: 'acl.renewToken', args })
  t.match(outcome, { type: 'renewed', row: { expirationTimeMs: nowMs + 90_000, usesLeft: 2 } })
  const late = { ...args, nowMs: nowMs + 90_000 }
  t.match(await server.propose({ type: 'acl.renewToken', args: late }), {
    outcome: { type: 'gone' },
  })
})

void t.test('what a batch token does not have is told in warnings', (t) => {
  const parameters = { ...noTokenParameters, numUses: 2, periodMs: 1_000 }
  const drawn = (more: Partial<LoginGrant>) =>
    drawLoginToken({ ...grant, kind: 'batch', ...more }, Date.now(), commandVersion).warnings
  t.same(drawn({ parameters }), [
    'token_num_uses is ignored: batch tokens are not counted',
    'token_period is ignored: batch tokens are not renewed',
  ])
  t.same(drawn({ parameters: noTokenParameters }), [])
  t.same(drawn({ parameters, kind: 'service' }), [])
  t.end()
})

void t.test('an address outside of the networks and the policy root are refused', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  await t.rejects(issue(server, { remote: '192.0.2.1' }), { code: 'permission_denied' })
  await t.rejects(issue(server, { policies: ['root'] }), { code: 'invalid_argument' })
})

void t.test(
  'policies of all sources together may be 1,024, once all servers know it',
  async (t) => {
    const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
    const policies = (count: number) => Array.from({ length: count }, (_, place) => `p${place}`)
    for (const count of [65, 1_024]) {
      t.equal((await issue(server, { policies: policies(count) })).row.policies.length, count)
    }
    await t.rejects(issue(server, { policies: policies(1_025) }), {
      code: 'invalid_argument',
      message: 'the token would have 1025 policies; a token has at most 1024',
    })
    const below = (count: number) => () =>
      drawLoginToken({ ...grant, policies: policies(count) }, Date.now(), manyPoliciesVersion - 1)
    t.equal(below(64)().token.policies.length, 64)
    t.throws(below(65), {
      code: 'invalid_argument',
      message:
        'the token would have 65 policies; a token has at most 64 until every server is at command version 19',
    })
  },
)

void t.test('a name that lower case makes too long for a token is refused', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  await t.rejects(issue(server, { policies: ['İ'.repeat(128)] }), {
    code: 'invalid_argument',
    message: /at most 128 characters/,
  })
})

void t.test('without login methods nothing renews the tokens of logins', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const { current } = server.services.get(loginRenewal)
  t.ok(current === null || typeof current.present === 'function')
})

void t.test('the token is found until its end', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const { row } = await issue(server)
  const reader = server.machine.reader()
  t.same(await tokenByAccessor(reader, row.accessor), row)
  const args = { accessors: [row.accessor], nowMs: 1, expiredOnly: false }
  await server.propose({ type: 'acl.deleteTokens', args })
  t.equal(await tokenByAccessor(server.machine.reader(), row.accessor), null)
})
