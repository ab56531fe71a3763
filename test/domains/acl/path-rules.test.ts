import t from 'tap'
import { authNameOf, patternOfPath } from '../../../src/domains/acl/path-pattern-model.ts'
import { fits } from '../../../src/domains/acl/pattern-model.ts'
import {
  newestRuleOf,
  parsePolicy,
  warningsOfPolicy,
} from '../../../src/domains/acl/policy-model.ts'
import { RuleSet } from '../../../src/domains/acl/rule-set-model.ts'

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
  ['auth/staff*', ['read'], 'staff*', ['read']],
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

const asked = [
  'auth/ldap/config',
  'auth/ldap/groups/',
  'auth/sysadmins/config',
  'auth/staff/users/a',
  'auth/token/create',
  'sys/auth',
  'sys/auth/ldap',
  'sys/auth/team/eu/tune',
  'sys/locked-users',
  'sys/locked-users/a/unlock/b',
  'sys/capabilities',
  'sys/capabilities-accessor',
]

t.test('a path with a star is for the paths that begin so, and the longer one is closer', (t) => {
  const heads = [...new Set(asked.flatMap(headsOf))]
  const made = heads.flatMap((head) => {
    const pattern = patternOfPath(`${head}*`, 'line 1')
    return pattern === null ? [] : [{ head, pattern }]
  })
  t.equal(made.length, heads.length, 'all of them have a meaning')
  for (const path of asked) {
    const name = authNameOf(path) ?? ''
    const fitting = made.filter(({ pattern }) => fits(pattern, name))
    const expected = heads.filter((head) => path.startsWith(head) || tunes(path, head))
    t.same(fitting.map(({ head }) => head).sort(), expected.sort(), path)
    for (const shorter of fitting) {
      for (const longer of fitting) {
        if (tunes(path, longer.head) || !longer.head.startsWith(shorter.head)) continue
        const { weight } = shorter.pattern
        t.ok(longer.pattern.weight >= weight, `${path} ${shorter.head} ${longer.head}`)
      }
    }
  }
  t.end()
})

function headsOf(path: string): readonly string[] {
  return Array.from({ length: path.length }, (_, at) => path.slice(0, at))
}

/** `sys/mounts/auth/<path>/tune` is another name of `sys/auth/<path>/tune`. */
function tunes(path: string, head: string): boolean {
  return /^sys\/auth\/.+\/tune$/.test(path) && `sys/mounts/${path.slice(4)}`.startsWith(head)
}

t.test('stars that begin before the paths of login methods are for all of these', (t) => {
  const all = asked.map((path) => authNameOf(path) ?? '')
  const system = all.filter((name) => name.startsWith('sys/'))
  const rows: readonly (readonly [path: string, names: readonly string[]])[] = [
    ['*', all],
    ['/*', all],
    ['auth/*', all.filter((name) => !system.includes(name))],
    ['aut*', all.filter((name) => !system.includes(name))],
    ['auth/s*', ['sysadmins/config', 'staff/users/a']],
    ['auth/sys*', ['sysadmins/config']],
    ['sys/*', system],
    ['s*', system],
    ['sys/auth/*', ['sys/auth/ldap', 'sys/auth/team/eu/tune']],
    ['sys/mounts/*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/eu*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/eu/*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/eu/tu*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/eu/tune*', ['sys/auth/team/eu/tune']],
    ['sys/mounts/auth/team/eu/tuned*', []],
    ['sys/mounts/auth/other/*', []],
    ['sys/mounts/auth/team/eu/tune', ['sys/auth/team/eu/tune']],
    ['/sys/capabilities', ['sys/capabilities']],
  ]
  for (const [path, names] of rows) {
    const pattern = patternOfPath(path, 'line 1')
    t.same(
      all.filter((name) => pattern !== null && fits(pattern, name)),
      names,
      path,
    )
  }
  const rules = new RuleSet([
    {
      policy: 'p',
      rules: parsePolicy(`
        path "*" { capabilities = ["deny"] }
        path "auth/*" { capabilities = ["read"] }
        path "auth/s*" { capabilities = ["delete"] }
        auth "*" { capabilities = ["list"] }
      `),
    },
  ])
  const judge = (name: string, capability: string) =>
    rules.judge({ family: 'auth', namespace: null, name, below: false }, capability)
  t.equal(judge('ldap/config', 'read'), 'granted')
  t.equal(judge('staff/config', 'read'), 'refused')
  t.equal(judge('staff/config', 'delete'), 'granted')
  t.equal(judge('sys/auth/x', 'list'), 'refused', 'a denial among equals')
  t.end()
})

t.test('of rules for sys/mounts/auth the longest decides who tunes a login method', (t) => {
  const may = (...lines: readonly string[]) => {
    const text = lines.map((line) => {
      const [path = '', ...given] = line.split(' ')
      return `path "${path}" { capabilities = ${JSON.stringify(given)} }`
    })
    const rules = new RuleSet([{ policy: 'p', rules: parsePolicy(text.join('\n')) }])
    const judge = (name: string) =>
      rules.judge({ family: 'auth', namespace: null, name, below: false }, 'write')
    return [judge('sys/auth/ldap/tune'), judge('sys/auth/kube/tune')]
  }
  for (const denied of ['ldap/*', 'ldap*', 'l*', 'ldap/tu*', 'ldap/tune*', 'ldap/tune']) {
    const rules = ['sys/mounts/auth/* read update', `sys/mounts/auth/${denied} deny`] as const
    t.same(may(...rules), ['refused', 'granted'], denied)
    t.same(may('sys/* update', `sys/mounts/auth/${denied} deny`), ['refused', 'granted'], denied)
  }
  t.same(may('sys/mounts/auth/* deny', 'sys/mounts/auth/ldap/* update'), ['granted', 'refused'])
  t.same(may('sys/mounts/auth/ldap/* deny', 'sys/mounts/auth/ldap/tune update'), ['granted', null])
  t.same(may('sys/mounts/* deny', 'sys/mounts/auth/* update'), ['granted', 'granted'])
  t.same(may('sys/auth/ldap/* deny', 'sys/mounts/auth/ldap/* update'), ['refused', null])
  t.end()
})

t.test('paths that nothing here asks a right for are taken, give nothing and are told', (t) => {
  const rows: readonly (readonly [advice: string, paths: readonly string[]])[] = [
    ['nothing is served there', ['other/x', 'sys/leases/renew', 'pki/+/sign', 'auth/sys/auth/*']],
    ['write key "name" ', ['secret/*', 'secret/+/team', 'cubbyhole/*', 'kv/data/x']],
    ['every token may ask what it may do', ['sys/capabilities-self']],
    ['login methods are tuned with', ['sys/mounts', 'sys/mounts/x*']],
    ['policies are read with acl = "read"', ['sys/policies/acl/*', 'sys/policy', 'sys/policy/a']],
    ['entities are read with acl = "read"', ['identity/*', 'identity/entity/id']],
    ['no rule is needed for it, or', ['sys/internal/ui/mounts/*', '/sys/health']],
  ]
  for (const given of ['["create", "read", "update", "delete", "list", "sudo"]', '["deny"]']) {
    const text = rows
      .flatMap(([, paths]) => paths)
      .map((path) => `path "${path}" {\n capabilities = ${given}\n}`)
      .join('\n')
    t.same(parsePolicy(text), [])
    t.match(
      warningsOfPolicy(`${text}\n${text}\npath "auth/*" { capabilities = ["read"] }`),
      rows.map(([advice, paths]) => {
        const named = paths.map((path) => JSON.stringify(path)).join(', ')
        return `rules without effect here, for ${named}: ${advice}`
      }),
    )
  }
  t.same(warningsOfPolicy('path "auth/ldap/*" { capabilities = ["read"] }\nacl = "read"'), [])
  const json = JSON.stringify({ path: { 'secret/*': { capabilities: ['read'] } } })
  t.same([parsePolicy(json), warningsOfPolicy(json).length], [[], 1])
  const members = `path "secret/a" {
    policy = "write"
    allowed_parameters = { "a" = [] }
    min_wrapping_ttl = "1s"
  }`
  t.same(parsePolicy(members), [])
  const many = Array.from({ length: 120 }, (_, at) => `path "a/${at}" { capabilities = ["read"] }`)
  t.match(warningsOfPolicy(many.join('\n')), [/"a\/99" and 20 more: nothing is served there/])
  t.end()
})

t.test('paths that older servers refuse wait for them', (t) => {
  for (const path of [
    'secret/*',
    'auth/sys/x',
    'sys/authors',
    '*',
    'sys/*',
    'sys/capabilities',
    'sys/mounts/auth/ldap/tune',
    '/auth/ldap',
  ]) {
    const text = `path "${path}" { capabilities = ["read"] }`
    t.same(newestRuleOf(text), { word: `path "${path}"`, version: 14 })
  }
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

t.test(
  'what no policy of the secrets service has, and wildcards over paths with an effect, are refused',
  (t) => {
    const refused = [
      ['path "sys/+/x" { capabilities = ["read"] }', /at its end alone/],
      ['path "+/ldap" { capabilities = ["read"] }', /at its end alone/],
      ['path "auth/+/login" { capabilities = ["read"] }', /at its end alone/],
      ['path "auth/*/login" { capabilities = ["read"] }', /at its end alone/],
      ['path "auth/ldap/config" { capabilities = ["write"] }', /no capability "write"/],
      ['path "auth/ldap/config" { policy = "read" }', /path has no policy/],
      ['path "auth/ldap/config" { }', /capabilities must be a list/],
      ['path "auth/ldap/*" { allowed_parameters = { } }', /path has no block allowed_parameters/],
      ['path "secret/x" { capabilities = ["write"] }', /no capability "write"/],
      ['path "secret/x" { capabilities = "read" }', /capabilities must be a list/],
      ['path "secret/x" { other = "read" }', /path has no other/],
      ['path "*/ldap" { capabilities = ["read"] }', /at its end alone/],
      ['path { capabilities = ["read"] }', /path needs a name/],
    ] as const
    for (const [text, message] of refused) {
      t.throws(() => parsePolicy(text), { code: 'invalid_argument', message }, text)
    }
    t.end()
  },
)
