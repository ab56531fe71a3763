/** Tokens are drawn in one place; rows have the members that every version reads, and others are read where they stand. */
import t from 'tap'
import { hashOf } from '../../../src/domains/acl/authorizer.ts'
import { drawToken } from '../../../src/domains/acl/issue.ts'
import { cidrsPerTokenMax, endOf, ttlMsMax, type TokenRow } from '../../../src/domains/acl/model.ts'
import { aclTokens } from '../../../src/domains/acl/table.ts'
import { Tables } from '../../../src/fsm/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'
import { issuedMembers, putToken, specWith } from './token-rows.ts'

/** As version 1 wrote it. */
const oldRow: TokenRow = {
  hash: 'h'.repeat(43),
  accessor: '6b0f9c4e-8a5c-4a5e-9d7e-2f1c0a9b8d7e',
  name: 'ci',
  description: '',
  type: 'client',
  policies: ['p'],
  roles: [],
  createTimeMs: 5_000,
  expirationTimeMs: null,
  createIndex: 7,
  modifyIndex: 9,
}

void t.test('a secret is 256 bits, drawn anew each time, or the one that was chosen', async (t) => {
  const drawn = Array.from({ length: 100 }, () => drawToken(specWith(), null))
  t.equal(new Set(drawn.map(({ secret }) => secret)).size, 100)
  t.equal(new Set(drawn.map(({ token }) => token.accessor)).size, 100)
  for (const { token, secret } of drawn) {
    t.equal(Buffer.from(secret, 'base64url').length, 32)
    t.equal(token.hash, hashOf(secret))
    t.match(token.accessor, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
    t.match(token.accessor, /^.{14}4.{4}[89ab]/, 'a random UUID')
    t.notOk(JSON.stringify(token).includes(secret), 'the row has the hash alone')
  }
  const chosen = 'c'.repeat(32)
  t.match(drawToken(specWith(), chosen), { secret: chosen, token: { hash: hashOf(chosen) } })
  t.throws(() => drawToken(specWith(), 'short'), { code: 'invalid_argument' })
})

void t.test('what operators make has the members that servers of every version read', async (t) => {
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true } })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  const more = { BoundCIDRs: ['10.0.0.0/8'], UsesLeft: 1, Parent: 'x', boundCidrs: ['10.0.0.0/8'] }
  const body = { Type: 'management', ExpirationTTL: '1h', ...more }
  const token = (await server.ask('PUT', '/v1/acl/token', body, root)).json()
  const { SecretID } = token as { readonly SecretID: string }
  for (const secret of [root, SecretID]) {
    const row = server.machine.reader().get(aclTokens, [hashOf(secret)])
    t.same(Object.keys(row ?? {}).sort(), Object.keys(oldRow).sort())
  }
})

void t.test('rows of both shapes are read, and none beyond the bounds', async (t) => {
  const bound = new Tables([aclTokens]).get('acl_tokens')
  const faultOf = (more: object) => bound.faultOf({ ...oldRow, ...more })
  t.equal(faultOf({}), null)
  t.equal(faultOf(issuedMembers), null)
  for (const [name, value] of Object.entries(issuedMembers)) {
    t.equal(faultOf({ [name]: value }), null, name)
    t.not(faultOf({ [name]: null }), null, `${name} is absent or there`)
  }
  const { lease } = issuedMembers
  const table: readonly (readonly [name: string, more: object])[] = [
    ['an unknown member', { nobody: 1 }],
    ['another kind', { kind: 'other' }],
    ['an accessor too long', { parent: 'x'.repeat(65) }],
    ['uses below none', { usesLeft: -1 }],
    ['no networks', { boundCidrs: [] }],
    ['too many networks', { boundCidrs: Array(cidrsPerTokenMax + 1).fill('10.0.0.0/8') }],
    ['a lease without an end', { lease: { ...lease, explicitMaxTtlMs: ttlMsMax + 1 } }],
    ['a lease with more', { lease: { ...lease, more: 1 } }],
    ['metadata too long', { metadata: [['a', 'x'.repeat(16_384)]] }],
    ['an issuer without a mount', { issuer: { alias: 'a', mountId: 'm' } }],
  ]
  for (const [name, more] of table) t.type(faultOf(more), 'string', name)
})

void t.test('the end of a token is the first of its ends, and its row goes then', async (t) => {
  const lease = { ...issuedMembers.lease, explicitMaxTtlMs: 1_000 }
  t.equal(endOf(oldRow), Infinity)
  t.equal(endOf({ ...oldRow, expirationTimeMs: 6_500 }), 6_500)
  t.equal(endOf({ ...oldRow, lease }), 6_000)
  t.equal(endOf({ ...oldRow, lease, expirationTimeMs: 6_500 }), 6_000)
  t.equal(endOf({ ...oldRow, lease, expirationTimeMs: 5_500 }), 5_500)
  t.equal(endOf({ ...oldRow, lease: { ...lease, explicitMaxTtlMs: null } }), Infinity)

  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const createTimeMs = Math.floor(systemClock.wallMs()) - 2_000
  const over = await putToken(server, { createTimeMs, lease })
  const stays = await putToken(server, { createTimeMs, lease: issuedMembers.lease })
  const duties = server.startDuty('acl')
  const rowOf = ({ hash }: { readonly hash: string }) =>
    server.machine.reader().get(aclTokens, [hash])
  await eventually('its removal', async () => (rowOf(over) === undefined ? true : undefined))
  await duties.stop()
  t.ok(rowOf(stays))
})
