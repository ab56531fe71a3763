import t from 'tap'
import { newestRuleOf, parsePolicy } from '../../../src/domains/acl/policy-model.ts'

const rows: readonly (readonly [
  path: string,
  given: readonly string[],
  name: string,
  has: readonly string[],
])[] = [
  ['auth/ldap/config', ['read'], 'ldap/config', ['read']],
  ['auth/token/renew-self', ['update'], 'token/renew-self', ['write']],
  ['auth/ldap/*', ['create', 'update', 'delete', 'list'], 'ldap/*', ['write', 'delete', 'list']],
  ['auth/ldap/users/*', ['delete'], 'ldap/users/*', ['delete']],
  ['auth/ldap/users/*', ['create', 'update', 'patch'], 'ldap/users/*', ['write']],
  ['auth/ldap/users', ['list', 'sudo'], 'ldap/users', ['list', 'sudo']],
  ['auth/*', ['deny', 'read'], '*', []],
  ['sys/auth/team/*', ['update'], 'sys/auth/team/*', ['write']],
]

t.test('path rules of the secrets service are auth rules', (t) => {
  for (const [path, given, name, has] of rows) {
    const text = `path "${path}" { capabilities = ${JSON.stringify(given)} }`
    const [rule] = parsePolicy(text)
    t.equal(rule?.family, 'auth')
    t.same(rule?.capabilities, has, text)
    t.equal(rule?.deny, given.includes('deny'))
    t.equal(rule?.pattern.pieces.join('*'), name)
    t.same(newestRuleOf(text), { word: 'path', version: 6 })
  }
  t.equal(
    newestRuleOf('namespace "x" { variables { path "y" { capabilities = ["read"] } } }'),
    null,
  )
  t.same(newestRuleOf('keyring = "read"\nlogin_prefix "" { policy = "explain" }'), {
    word: 'login_prefix',
    version: 7,
  })
  t.end()
})

t.test('delete and sudo in auth rules wait for servers that know them', (t) => {
  for (const word of ['delete', 'sudo']) {
    const later = { word, version: 14 }
    for (const given of [word, `auth:${word}`]) {
      t.same(newestRuleOf(`auth "token/*" { capabilities = ["write", "${given}"] }`), later)
      t.same(newestRuleOf(`auth_prefix "" { capabilities = ["${given}"] }`), later)
    }
  }
  t.equal(newestRuleOf('auth "token/*" { capabilities = ["write"] }'), null)
  t.end()
})

t.test('what has no meaning here is refused with what to write instead', (t) => {
  const refused = [
    ['path "other/x" { capabilities = ["read"] }', /rules for the rest are key, variables, acl/],
    ['path "secret/data/x" { capabilities = ["read"] }', /write key "name"/],
    ['path "sys/capabilities" { capabilities = ["update"] }', /auth "sys\/capabilities"/],
    ['path "sys/capabilities-self" { capabilities = ["update"] }', /no rule is needed/],
    ['path "sys/mounts/auth/ldap/tune" { capabilities = ["update"] }', /"sys\/auth\/<path>\/tune"/],
    ['path "sys/policies/acl/*" { capabilities = ["read"] }', /acl = "read"/],
    ['path "sys/policy" { capabilities = ["read"] }', /acl = "read"/],
    ['path "identity/entity/id" { capabilities = ["list"] }', /acl = "read"/],
    ['path "auth/+/login" { capabilities = ["read"] }', /at its end alone/],
    ['path "auth/*/login" { capabilities = ["read"] }', /at its end alone/],
    ['path "auth/ldap/config" { capabilities = ["write"] }', /no capability "write"/],
    ['path "auth/ldap/config" { policy = "read" }', /path has no policy/],
    ['path "auth/ldap/config" { }', /capabilities must be a list/],
    ['path { capabilities = ["read"] }', /path needs a name/],
  ] as const
  for (const [text, message] of refused) {
    t.throws(() => parsePolicy(text), { code: 'invalid_argument', message }, text)
  }
  t.end()
})
