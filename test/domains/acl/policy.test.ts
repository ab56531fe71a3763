/** The policy language: what texts mean, what is refused and where, and which rule wins. */
import t from 'tap'
import { explain, isAllowed } from '../../../src/domains/acl/authorize.ts'
import { parsePolicy } from '../../../src/domains/acl/policy-model.ts'
import { checkNothingTwice } from '../../../src/domains/acl/policy-source-model.ts'
import { fits, patternOf } from '../../../src/domains/acl/pattern-model.ts'
import { RuleSet, type Target } from '../../../src/domains/acl/rule-set-model.ts'
import { seededRandom, randomInteger } from '../../../src/lib/random.ts'

function rulesOf(...texts: readonly string[]): RuleSet {
  return new RuleSet(texts.map((text, at) => ({ policy: `p${at + 1}`, rules: parsePolicy(text) })))
}

type Question = readonly [
  family: Target['family'],
  name: string,
  capability: string,
  verdict: 'granted' | 'refused' | null,
  namespace?: string,
]

function ask(rules: RuleSet, [family, name, capability, , namespace]: Question, below = false) {
  return rules.judge({ family, namespace: namespace ?? null, name, below }, capability)
}

void t.test('a policy in HCL means what its words say', async (t) => {
  const rules = rulesOf(`
    node { policy = "read" }
    agent { policy = "write" }
    operator = "list"
    acl = "read"
    namespace "team-*" {
      policy = "read"
      capabilities = ["namespace:submit-job"]
      variables {
        path "app/*" { capabilities = ["variables:list", "read"] }
        path "app/secret" { capabilities = ["deny"] }
        path "one" { capabilities = ["read"] }
      }
      key_prefix "t/" { policy = "write" }
    }
    key "one" { policy = "read" }
    key_prefix "app/" { policy = "write" }
    session_prefix "web-" { policy = "write" }
    service "api" { policy = "read" }
    service_prefix "" { policy = "deny" }
    event "*" { policy = "read" }
    auth "ldap/*" { policy = "write" }
    auth "deleter/*" { capabilities = ["delete"] }
    auth "writer/*" { capabilities = ["auth:write"] }
  `)
  const table: readonly Question[] = [
    ['node', 'any', 'read', 'granted'],
    ['node', 'any', 'list', 'granted'],
    ['node', 'any', 'write', 'refused'],
    ['agent', '', 'write', 'granted'],
    ['operator', '', 'list', 'granted'],
    ['operator', '', 'read', 'refused'],
    ['acl', '', 'read', 'granted'],
    ['acl', '', 'write', 'refused'],
    ['namespace', 'team-a', 'read-job', 'granted'],
    ['namespace', 'team-a', 'submit-job', 'granted'],
    ['namespace', 'team-a', 'alloc-exec', 'refused'],
    ['namespace', 'team-a', 'read', 'granted'],
    ['namespace', 'default', 'read', null],
    ['variables', 'app/db', 'read', 'granted', 'team-a'],
    ['variables', 'app/db', 'write', 'refused', 'team-a'],
    ['variables', 'app/secret', 'list', 'refused', 'team-a'],
    ['variables', 'one', 'list', 'granted', 'team-a'],
    ['variables', 'other', 'read', null, 'team-a'],
    ['variables', 'app/db', 'read', null, 'default'],
    ['key', 't/x', 'write', 'granted', 'team-b'],
    ['key', 't/x', 'write', null, 'default'],
    ['key', 'one', 'read', 'granted', 'default'],
    ['key', 'one', 'write', 'refused', 'default'],
    ['key', 'one/two', 'read', null, 'default'],
    ['key', 'app/', 'write', 'granted', 'default'],
    ['key', 'app', 'write', null, 'default'],
    ['session', 'WEB-1', 'write', 'granted', 'default'],
    ['service', 'api', 'read', 'granted', 'default'],
    ['service', 'other', 'read', 'refused', 'default'],
    ['event', 'deploy', 'read', 'granted'],
    ['auth', 'ldap/config', 'write', 'granted'],
    ['auth', 'ldap/users/a', 'delete', 'granted'],
    ['auth', 'kubernetes/config', 'read', null],
    ['auth', 'deleter/users/a', 'delete', 'granted'],
    ['auth', 'deleter/users/a', 'write', 'refused'],
    ['auth', 'writer/users/a', 'delete', 'granted'],
    ['auth', 'writer/users/a', 'read', 'refused'],
  ]
  for (const question of table) {
    const [family, name, capability, verdict, namespace = ''] = question
    t.equal(ask(rules, question), verdict, `${family} ${name} ${capability} ${namespace}`)
  }
})

void t.test('sudo is given by name alone, and by no default', async (t) => {
  const sudo = { resource: 'auth', path: 'token/create', access: 'sudo' } as const
  const table = [
    ['path "auth/token/create" { capabilities = ["update", "sudo"] }', true],
    ['path "auth/token/*" { capabilities = ["sudo"] }', true],
    ['auth "token/create" { capabilities = ["sudo"] }', true],
    ['path "auth/token/create" { capabilities = ["sudo", "deny"] }', false],
    ['auth "token/create" { policy = "write" }', false],
    ['path "auth/token/create-orphan" { capabilities = ["sudo"] }', false],
    ['', false],
  ] as const
  for (const [text, expected] of table) {
    for (const byDefault of ['deny', 'allow'] as const) {
      t.equal(isAllowed(rulesOf(text), sudo, byDefault), expected, `${text} ${byDefault}`)
    }
  }
})

void t.test('no default gives login methods or the tokens of others away', async (t) => {
  const own = [
    ['token/lookup-self', 'read'],
    ['token/renew-self', 'write'],
    ['token/revoke-self', 'write'],
  ] as const
  for (const [path, access] of own) {
    const requirement = { resource: 'auth', path, access } as const
    t.ok(isAllowed(rulesOf(''), requirement, 'allow'), path)
    t.notOk(isAllowed(rulesOf(''), requirement, 'deny'), path)
    t.notOk(
      isAllowed(rulesOf(`path "auth/${path}" { capabilities = ["deny"] }`), requirement, 'allow'),
    )
  }
  const closed = [
    ['ldap/config', 'read'],
    ['ldap/config', 'write'],
    ['token/accessors', 'list'],
    ['token/lookup', 'write'],
    ['token/renew', 'write'],
    ['token/revoke-accessor', 'write'],
    ['token/revoke-orphan', 'write'],
    ['token/roles/x', 'write'],
    ['token/create', 'write'],
    ['token/create/x', 'write'],
    ['token/lookup-self', 'sudo'],
    ['sys/auth', 'read'],
    ['sys/auth/mine', 'write'],
    ['sys/auth/mine/tune', 'write'],
    ['sys/capabilities-accessor', 'write'],
    ['sys/locked-users', 'write'],
  ] as const
  for (const [path, access] of closed) {
    const requirement = { resource: 'auth', path, access } as const
    t.notOk(isAllowed(rulesOf(''), requirement, 'allow'), `${access} ${path}`)
    t.ok(isAllowed(rulesOf(`auth "*" { capabilities = ["${access}"] }`), requirement, 'allow'))
  }
})

void t.test('a list is allowed with a slash at the end of the path or without', async (t) => {
  const path = (name: string, ...given: readonly string[]) =>
    `path "auth/ldap/${name}" { capabilities = ${JSON.stringify(given)} }`
  const table: readonly (readonly [rules: readonly string[], expected: boolean | null])[] = [
    [[path('groups', 'list')], true],
    [[path('groups/', 'list')], true],
    [[path('groups/*', 'list')], true],
    [[path('groups*', 'list')], true],
    [[path('*', 'list')], true],
    [[path('groups/a', 'list')], null],
    [[path('group', 'list')], null],
    [[path('groups/', 'deny'), path('groups', 'list')], false],
    [[path('groups/', 'list'), path('groups', 'deny')], true],
    [[path('groups/*', 'deny'), path('*', 'list')], false],
    [[path('groups/*', 'list'), path('*', 'deny')], true],
    [[path('groups/*', 'read'), path('*', 'list')], false],
    // An exact name is closer than any pattern, as in Vault.
    [[path('groups', 'list'), path('groups/*', 'deny')], true],
    [[path('groups', 'deny'), path('groups/*', 'list')], false],
    [[path('groups', 'list'), path('*', 'read')], true],
  ]
  const list = { resource: 'auth', path: 'ldap/groups', access: 'list' } as const
  for (const [rules, expected] of table) {
    const set = rulesOf(...rules)
    for (const byDefault of ['deny', 'allow'] as const) {
      const found = explain(set, list, byDefault)
      t.equal(found.allowed, expected ?? false, `${rules.join('\n')} ${byDefault}`)
      const [first] = found.tried
      if (expected === null) t.equal(first, undefined)
      else t.equal(first?.rule.capabilities.includes('list'), expected, 'the first one decided')
    }
  }
  const read = { resource: 'auth', path: 'ldap/groups', access: 'read' } as const
  t.notOk(isAllowed(rulesOf(path('groups/*', 'read', 'list')), read, 'deny'), 'for lists alone')
})

void t.test('JSON says the same as HCL', async (t) => {
  const texts = [
    JSON.stringify({
      operator: 'read',
      node: { policy: 'read' },
      key_prefix: { 'a/': { policy: 'write' }, 'a/b/': { policy: 'deny' } },
      namespace: {
        'x-*': { policy: 'read', variables: { path: { 'p/*': { capabilities: ['list'] } } } },
      },
    }),
    JSON.stringify({
      operator: [{ policy: 'read' }],
      node: [{ policy: 'read' }],
      key_prefix: [{ 'a/': [{ policy: 'write' }] }, { 'a/b/': { policy: 'deny' } }],
      namespace: [
        { 'x-*': { policy: 'read', variables: [{ path: { 'p/*': { capabilities: ['list'] } } }] } },
      ],
    }),
  ]
  for (const text of texts) {
    const rules = rulesOf(text)
    const table: readonly Question[] = [
      ['operator', '', 'read', 'granted'],
      ['node', 'n', 'read', 'granted'],
      ['key', 'a/1', 'write', 'granted', 'default'],
      ['key', 'a/b/1', 'read', 'refused', 'default'],
      ['namespace', 'x-1', 'read-job', 'granted'],
      ['variables', 'p/1', 'list', 'granted', 'x-1'],
      ['variables', 'p/1', 'read', 'refused', 'x-1'],
    ]
    for (const question of table) t.equal(ask(rules, question), question[3], question.join(' '))
  }
})

void t.test('the closest pattern wins, and a denial among equals', async (t) => {
  const table: readonly (readonly [texts: readonly string[], question: Question])[] = [
    [
      ['key_prefix "a/" { policy = "read" } \n key_prefix "a/b/" { policy = "write" }'],
      ['key', 'a/b/c', 'write', 'granted', 'default'],
    ],
    [
      ['key_prefix "a/" { policy = "write" }', 'key_prefix "a/b/" { policy = "read" }'],
      ['key', 'a/b/c', 'write', 'refused', 'default'],
    ],
    [
      ['key "a" { policy = "write" }', 'key_prefix "a" { policy = "deny" }'],
      ['key', 'a', 'write', 'granted', 'default'],
    ],
    [
      ['key_prefix "a" { policy = "write" }', 'key_prefix "a" { policy = "deny" }'],
      ['key', 'ab', 'read', 'refused', 'default'],
    ],
    [
      ['key_prefix "a" { policy = "read" }', 'key_prefix "a" { policy = "write" }'],
      ['key', 'ab', 'write', 'granted', 'default'],
    ],
    [
      ['key "*.secret" { policy = "deny" }', 'key_prefix "app/" { policy = "write" }'],
      ['key', 'app/x.secret', 'read', 'refused', 'default'],
    ],
    [
      ['key "a*" { policy = "read" }', 'key "*b" { policy = "deny" }'],
      ['key', 'a-b', 'read', 'refused', 'default'],
    ],
    [
      ['namespace "*" { key_prefix "" { policy = "read" } }', 'key "x" { policy = "write" }'],
      ['key', 'y', 'read', 'granted', 'default'],
    ],
    [
      ['namespace "*" { key "k" { policy = "write" } }', 'key_prefix "" { policy = "read" }'],
      ['key', 'k', 'write', 'refused', 'default'],
    ],
    [
      [
        'namespace "prod" { policy = "deny" }',
        'namespace "prod" { variables { path "a" { policy = "read" } } }',
      ],
      ['variables', 'a', 'read', 'refused', 'prod'],
    ],
    [
      [
        'namespace "prod" { policy = "deny" }',
        'namespace "*" { key_prefix "" { policy = "read" } }',
      ],
      ['key', 'a', 'read', 'refused', 'prod'],
    ],
    [
      [
        'namespace "p*" { policy = "deny" }',
        'namespace "prod" { variables { path "a" { policy = "read" } } }',
      ],
      ['variables', 'a', 'read', 'granted', 'prod'],
    ],
    [
      [
        'namespace "a*" { variables { path "x" { policy = "read" } } }',
        'namespace "*a" { variables { path "x" { policy = "deny" } } }',
      ],
      ['variables', 'x', 'read', 'refused', 'aa'],
    ],
    [
      ['node "web" { policy = "read" }', 'node { policy = "deny" }'],
      ['node', 'WEB', 'read', 'granted'],
    ],
  ]
  for (const [texts, question] of table) {
    t.equal(ask(rulesOf(...texts), question), question[3], texts.join(' + '))
  }
})

void t.test(
  'everything below a prefix is granted only when nothing below is held back',
  async (t) => {
    const table: readonly (readonly [text: string, prefix: string, verdict: unknown])[] = [
      ['key_prefix "a/" { policy = "write" }', 'a/', 'granted'],
      ['key_prefix "a/" { policy = "write" }', 'a/b', 'granted'],
      ['key_prefix "a/" { policy = "write" }', 'a', null],
      ['key "a/" { policy = "write" }', 'a/', null],
      ['key_prefix "a/" { policy = "write" }\nkey "a/b" { policy = "read" }', 'a/', 'refused'],
      ['key_prefix "a/" { policy = "write" }\nkey "a/b" { policy = "deny" }', 'a/b', 'refused'],
      ['key_prefix "a/" { policy = "write" }\nkey "a/b" { policy = "deny" }', 'a/c', 'granted'],
      ['key_prefix "" { policy = "deny" }\nkey_prefix "a/" { policy = "write" }', 'a/x', 'granted'],
      ['key_prefix "a/" { policy = "write" }\nkey "*secret*" { policy = "deny" }', 'a/', 'refused'],
      ['key "z" { policy = "deny" }', '', 'refused'],
    ]
    for (const [text, name, verdict] of table) {
      const target: Target = { family: 'key', namespace: 'default', name, below: true }
      t.equal(rulesOf(text).judge(target, 'write'), verdict, `${text} below ${name}`)
    }
  },
)

void t.test('what is wrong is refused with its place', async (t) => {
  const table: readonly (readonly [text: string, message: RegExp])[] = [
    ['\nmash = "write"', /line 2: there are no rules for "mash"; there are for acl, agent/],
    ['key "a" { policy = "rw" }', /line 1: policy must be one of list, read, write, deny/],
    ['key "a" {}', /line 1: this rule says nothing: policy is one of/],
    ['key "a" "b" { policy = "read" }', /line 1: key has one name, not 2/],
    [
      'key "a" {\n policy = "read"\n sentinel = "x"\n}',
      /line 3: key has no sentinel; it has policy and cap/,
    ],
    ['operator "x" { policy = "read" }', /operator rules are for all of them/],
    ['namespace { policy = "read" }', /namespace needs a name/],
    ['namespace "a/b" { policy = "read" }', /letters, digits, hyphens/],
    ['namespace "a" {}', /says nothing/],
    ['namespace "a" { node { policy = "read" } }', /node has no place in a namespace/],
    ['namespace "a" { variables { path { policy = "read" } } }', /path needs a name/],
    ['namespace "a" { capabilities = ["fly"] }', /no capability "fly"/],
    ['namespace "a" { capabilities = "read-job" }', /capabilities must be a list of texts/],
    ['variables { path "a" { policy = "read" } }', /inside of a namespace block/],
    ['key = "read"', /key is a block/],
    ['key_prefix { policy = "read" }', /key_prefix "" is all/],
    [`key "${'*'.repeat(9)}" { policy = "read" }`, /at most 1024 letters and 8 stars/],
    ['key "a" {', /policy:1:1: the block key is never closed/],
    ['{ "key": ', /policy: not valid JSON/],
    ['{"key": {"a": {"policy": 7}}}', /policy, key\.a\.policy: policy must be one of/],
    [`{"key": ${'['.repeat(40)}${']'.repeat(40)}}`, /nested deeper/],
    [`# ${'x'.repeat(70_000)}`, /at most 65536 bytes/],
  ]
  for (const [text, message] of table) {
    t.throws(() => parsePolicy(text), { message }, text.slice(0, 60))
  }
  t.same(parsePolicy(''), [], 'nothing at all is a policy without rules')
})

void t.test('a policy that is written gives no member twice', async (t) => {
  const table: readonly (readonly [text: string, path: string])[] = [
    ['{"agent": "deny", "agent": "write"}', 'agent'],
    ['{"key": {"a/": {"policy": "deny"}, "a/": {"policy": "write"}}}', 'key.a/'],
    [
      ' {"key": {"a": {"policy": "deny"}}, "operator": "read", "key": {"b": {"policy": "read"}}}',
      'key',
    ],
    [
      '{"key": [{"a": {"policy": "read"}}, {"b": {"policy": "deny", "polic\\u0079": "read"}}]}',
      'key[1].b.policy',
    ],
  ]
  for (const [text, path] of table) {
    const message = `policy, ${path}: is given twice, and only the last one would count: write one of them, or several blocks of a kind as a list`
    t.throws(() => checkNothingTwice(text), { code: 'invalid_argument', message }, text)
    t.doesNotThrow(() => parsePolicy(text), 'one that is stored is read')
  }
  const taken = [
    '{"key": {"a": {"policy": "read"}, "b": {"policy": "read"}}, "operator": "read"}',
    '{"key": [{"a": {"policy": "read"}}, {"a": {"policy": "deny"}}]}',
    'key "a" { policy = "read" }\nkey "a" { policy = "deny" }',
  ]
  for (const text of taken) t.doesNotThrow(() => checkNothingTwice(text), text)
})

void t.test('a pattern fits what a slow and plain matcher says it fits', async (t) => {
  const seed = 20_261
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const text = (letters: string, lengthMax: number): string =>
    Array.from({ length: randomInteger(random, 0, lengthMax) }, () =>
      letters.charAt(randomInteger(random, 0, letters.length)),
    ).join('')
  const plainly = (pattern: string, name: string): boolean => {
    if (pattern === '') return name === ''
    if (pattern.startsWith('*')) {
      return plainly(pattern.slice(1), name) || (name !== '' && plainly(pattern, name.slice(1)))
    }
    return pattern[0] === name[0] && name !== '' && plainly(pattern.slice(1), name.slice(1))
  }
  for (let round = 0; round < 5_000; round += 1) {
    const pattern = text('ab*', 6)
    const name = text('ab', 8)
    if (fits(patternOf(pattern), name) !== plainly(pattern, name)) {
      t.fail(`${JSON.stringify(pattern)} and ${JSON.stringify(name)}`)
    }
  }
  t.pass('5000 pairs')
})

void t.test('the gossip keyring is the agent writer’s where no rule of its own says more', (t) => {
  // oxfmt-ignore
  const table: [text: string, read: boolean, write: boolean][] = [
    ['keyring = "read"',                       true,  false],
    ['keyring = "write"',                      true,  true],
    ['agent { policy = "read" }',              false, false],
    ['agent { policy = "write" }',             true,  true],
    ['agent { policy = "write" }\nkeyring = "deny"', false, false],
    ['agent { policy = "write" }\nkeyring = "read"', true,  false],
    ['agent { policy = "deny" }\nkeyring = "write"', true,  true],
    ['operator = "write"',                     false, false],
  ]
  for (const [text, read, write] of table) {
    const rules = rulesOf(text)
    const may = (resource: 'keyring' | 'agent', access: 'read' | 'write') =>
      isAllowed(rules, { resource, access }, 'deny')
    t.same([may('keyring', 'read'), may('keyring', 'write')], [read, write], text)
    t.equal(explain(rules, { resource: 'keyring', access: 'write' }, 'deny').allowed, write, text)
    if (!text.includes('agent')) t.notOk(may('agent', 'read'), 'the keyring alone')
  }
  t.end()
})
