/** What the claims of a token must say, and whom they name. */
import t from 'tap'
import { checkBindings, isBound } from '../../../src/domains/orchestrator/binding-model.ts'
import {
  audiencesOf,
  checkAudience,
  checkIssuer,
  checkTimes,
  identityOf,
  leewayMs,
} from '../../../src/domains/orchestrator/claims.ts'
import { hostUrl } from '../../../src/domains/orchestrator/host-model.ts'
import { by, account, legacy, projected } from './tokens.ts'

const nowMs = 1_800_000_000_000
const now = nowMs / 1_000
const leeway = leewayMs / 1_000

void t.test('times count with some leeway where they are given', async (t) => {
  const good = [
    {},
    { exp: now + 1 },
    { exp: now - leeway + 1 },
    { exp: now - leeway + 0.5 },
    { nbf: now + leeway },
    { iat: now + leeway },
    { exp: now + 3_600, nbf: now - 3_600, iat: now - 3_600 },
  ]
  for (const claims of good) t.doesNotThrow(() => checkTimes(claims, nowMs), JSON.stringify(claims))
  const bad = [
    { exp: now - leeway },
    { exp: 0 },
    { exp: -1 },
    { nbf: now + leeway + 1 },
    { iat: now + leeway + 1 },
    { exp: now + 3_600, nbf: now + 3_000 },
  ]
  for (const claims of bad) {
    t.throws(() => checkTimes(claims, nowMs), by('times'), JSON.stringify(claims))
  }
  for (const value of ['', String(now), null, [], {}, true, Infinity, Number.NaN]) {
    for (const name of ['exp', 'nbf', 'iat']) {
      t.throws(
        () => checkTimes({ [name]: value }, nowMs),
        by('form'),
        `${name} ${JSON.stringify(value)}`,
      )
    }
  }
})

void t.test('the issuer is compared letter by letter', async (t) => {
  t.doesNotThrow(() => checkIssuer({ iss: 'kubernetes/serviceaccount' }, ''))
  t.doesNotThrow(() => checkIssuer({ iss: 'https://o.test' }, 'https://o.test'))
  for (const iss of [undefined, '', null, 'Kubernetes/serviceaccount', 'https://o.test/', ['x']]) {
    t.throws(() => checkIssuer({ iss }, ''), by('issuer'))
    t.throws(() => checkIssuer({ iss }, 'https://o.test'), by('issuer'))
  }
})

void t.test('the audience of a role must be among those of the token, exactly', async (t) => {
  t.same(audiencesOf({}), [])
  t.same(audiencesOf({ aud: '' }), [])
  t.same(audiencesOf({ aud: 'one' }), ['one'])
  t.same(audiencesOf({ aud: ['one', 'two'] }), ['one', 'two'])
  for (const aud of [null, 1, {}, [1], ['one', null]]) {
    t.throws(() => audiencesOf({ aud }), by('form'))
  }
  t.doesNotThrow(() => checkAudience(['one', 'two'], 'two'))
  t.doesNotThrow(() => checkAudience([], ''))
  for (const audience of ['One', 'on', 'one ', '*']) {
    t.throws(() => checkAudience(['one', 'two'], audience), by('audience'))
  }
})

void t.test('projected and older claims name the account', async (t) => {
  t.same(identityOf(projected(nowMs)), { ...account, secretName: '' })
  t.same(identityOf(legacy()), { ...account, secretName: 'till-token-x7k2p' })
  const { 'kubernetes.io/serviceaccount/secret.name': _, ...withoutSecret } = legacy()
  t.same(identityOf(withoutSecret), { ...account, secretName: '' })
  // The nested object counts where there is one.
  const both = { ...legacy(), ...projected(nowMs, { ...account, name: 'other' }) }
  t.match(identityOf(both), { name: 'other', secretName: '' })
})

void t.test('a claim that is missing or no name is refused', async (t) => {
  const serviceaccount = { name: 'till', uid: 'u' }
  const nested: readonly unknown[] = [
    null,
    1,
    [],
    {},
    { namespace: 'shop' },
    { serviceaccount },
    { namespace: '', serviceaccount },
    { namespace: 'shop', serviceaccount: [] },
    { namespace: 'shop', serviceaccount: { name: 'till' } },
    { namespace: 'shop', serviceaccount: { uid: 'u' } },
    { namespace: 'shop:till', serviceaccount },
    { namespace: 'sh op', serviceaccount },
    { namespace: 'shop\n', serviceaccount },
    { namespace: 'x'.repeat(254), serviceaccount },
    { namespace: ['shop'], serviceaccount },
  ]
  for (const value of nested) {
    // The older claims stand beside, and do not help.
    const claims = { ...legacy(), 'kubernetes.io': value }
    t.throws(() => identityOf(claims), { name: 'Refused' }, JSON.stringify(value))
  }
  for (const name of ['namespace', 'service-account.name', 'service-account.uid']) {
    const full = `kubernetes.io/serviceaccount/${name}`
    for (const value of ['', null, 1, undefined, 'a:b']) {
      const claims = { ...legacy(), [full]: value }
      t.throws(() => identityOf(claims), by('identity'), `${name} ${value}`)
    }
  }
  t.throws(() => identityOf({}), by('identity'))
})

void t.test('a star stands for any letters, and letter case counts', async (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['till', 'till', true],
    ['till', 'Till', false],
    ['till', 'tills', false],
    ['*', 'whatever', true],
    ['till-*', 'till-eu', true],
    ['till-*', 'till-', true],
    ['till-*', 'a-till-', false],
    ['*-till', 'eu-till', true],
    ['*-till', 'eu-till-2', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'a-c-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['aa*aa', 'aaa', false],
    ['a*a', 'a', false],
    ['**', '', true],
    ['t?ll', 'till', false],
    ['[t]ill', 'till', false],
    ['.*', 'till', false],
  ]
  for (const [pattern, name, expected] of cases) {
    t.equal(isBound([pattern], name), expected, `${pattern} ${name}`)
  }
  t.ok(isBound(['a', 'b*'], 'bb'))
  // Linear: one that tries again would not end.
  t.notOk(isBound([`${'a*'.repeat(200)}b`], 'a'.repeat(253)))
})

void t.test('bindings are not empty, and a star alone stands alone', async (t) => {
  for (const good of [
    ['*'],
    ['a'],
    ['a*', '*b'],
    Array.from({ length: 256 }, (_, at) => `n${at}`),
  ]) {
    t.doesNotThrow(() => checkBindings(good, 'names'))
  }
  const many = Array.from({ length: 257 }, (_, at) => `n${at}`)
  for (const bad of [[], ['*', 'a'], ['a', '*'], ['*', '*'], [''], ['a'.repeat(513)], many]) {
    t.throws(() => checkBindings(bad, 'names'), { code: 'invalid_argument' })
  }
})

void t.test('the host is a host, host:port or https URL', async (t) => {
  const good = {
    'o.test': 'https://o.test',
    'o.test:6443': 'https://o.test:6443',
    '10.0.0.1:6443': 'https://10.0.0.1:6443',
    '[::1]:6443': 'https://[::1]:6443',
    'https://o.test:6443': 'https://o.test:6443',
    'https://o.test/': 'https://o.test',
    'https://o.test/k8s/clusters/c1/': 'https://o.test/k8s/clusters/c1',
  }
  for (const [host, url] of Object.entries(good)) t.equal(hostUrl(host, 'host'), url)
  const bad = [
    '',
    ' ',
    'http://o.test',
    'ftp://o.test',
    'https://',
    'a b',
    'o.test:x',
    'https://u:p@o.test',
    'https://o.test?a=b',
    'https://o.test#a',
    'x'.repeat(3_000),
    'https://u@o.test',
    '::1',
  ]
  for (const host of bad) {
    t.throws(() => hostUrl(host, 'host'), { code: 'invalid_argument' }, host.slice(0, 40))
  }
})
