/** Which token parameters are refused. */
import t from 'tap'
import {
  checkCidrs,
  checkTokenParameters,
  issuedPolicies,
  noTokenParameters,
} from '../../../src/domains/acl/token-parameters-model.ts'

void t.test('token parameters are checked', async (t) => {
  const bad: readonly (readonly [name: string, more: object])[] = [
    ['a ttl above the maximum', { ttlMs: 2_000, maxTtlMs: 1_000 }],
    ['a negative ttl', { ttlMs: -1_000 }],
    ['a negative period', { periodMs: -1 }],
    ['negative uses', { numUses: -1 }],
    ['a periodic batch token', { type: 'batch', periodMs: 1_000 }],
    ['a counted batch token', { type: 'batch', numUses: 1 }],
    ['no network', { boundCidrs: ['house'] }],
    ['an empty policy', { policies: [''] }],
    ['a policy that is too long', { policies: ['x'.repeat(129)] }],
    ['a policy that is too long in lower case', { policies: ['İ'.repeat(128)] }],
  ]
  for (const [name, more] of bad) {
    const check = () => checkTokenParameters({ ...noTokenParameters, ...more })
    t.throws(check, { code: 'invalid_argument' }, name)
  }
  const good = [{}, { ttlMs: 2_000 }, { ttlMs: 1_000, maxTtlMs: 1_000 }, { type: 'batch' as const }]
  for (const more of good) checkTokenParameters({ ...noTokenParameters, ...more })
  const periodic = { ...noTokenParameters, periodMs: 2_000 }
  checkTokenParameters(periodic, 2_000)
  t.throws(() => checkTokenParameters(periodic, 1_000), { code: 'invalid_argument' })
})

void t.test('networks have the form of networks', async (t) => {
  checkCidrs('x', ['10.0.0.0/8', '10.1.2.3', '::/0', '2001:db8::1/128', '0.0.0.0/0'])
  for (const text of ['10.0.0.0/33', '::/129', '10.0.0/8', '', '10.0.0.0/', 'fe80::1%eth0/64']) {
    t.throws(() => checkCidrs('x', [text]), { code: 'invalid_argument' }, text)
  }
})

void t.test('policies of a token are trimmed, folded, sorted and there once', async (t) => {
  t.same(issuedPolicies([' Ops', 'ops', '', 'a', '  ']), ['a', 'ops'])
})
