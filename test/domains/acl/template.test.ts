/** Names of rules with Vault's templates, which stand for nothing here. */
import t from 'tap'
import { compiled } from '../../../src/domains/acl/rule-sets.ts'
import { refuseTemplates } from '../../../src/domains/acl/template-model.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { started } from './started.ts'

const refused = [
  'path "auth/ldap/users/{{identity.entity.name}}" { capabilities = ["deny"] }',
  'path "/auth/{{identity.entity.name}}*" { capabilities = ["read"] }',
  'path "{{identity.entity.name}}" { capabilities = ["read"] }',
  'path "sys/{{identity.entity.name}}" { capabilities = ["read"] }',
  'key_prefix "a/{{identity.entity.id}}" { policy = "deny" }',
  'service "{{identity.entity.id}}" { policy = "deny" }',
  'namespace "x" { key "{{identity.entity.id}}" { policy = "deny" } }',
  'namespace "x" { variables { path "{{identity.entity.id}}" { capabilities = ["deny"] } } }',
  '{ "key_prefix": { "a/{{identity.entity.id}}": { "policy": "deny" } } }',
  '{ "path": [{ "auth/{{identity.entity.id}}": { "capabilities": ["deny"] } }] }',
]
const taken = [
  'path "secret/data/{{identity.entity.id}}/*" { capabilities = ["read"] }',
  'path "identity/entity/id/{{identity.entity.id}}" { capabilities = ["read"] }',
  'query_prefix "{{x" { policy = "read" }',
  'key_prefix "a/{b}" { policy = "read" }',
]

t.test('a new policy has none in a name that has an effect', async (t) => {
  const message = /^policy, .+: "[^"]+" has a template, and there are none here/
  for (const text of refused) {
    t.throws(() => refuseTemplates(text), { code: 'invalid_argument', message }, text)
  }
  for (const text of taken) t.doesNotThrow(() => refuseTemplates(text), text)
  const { server, root } = await started(t)
  const [rules = ''] = refused
  for (const [url, body] of [
    ['/v1/sys/policies/acl/p', { policy: rules }],
    ['/v1/acl/policy/p', { Rules: rules }],
  ] as const) {
    t.equal((await server.ask('PUT', url, body, root)).status, 400, url)
  }
  const own = { policy: taken[0] }
  t.equal((await server.ask('PUT', '/v1/sys/policies/acl/p', own, root)).status, 200)
})

const inside = ['sys/mounts/auth/+/tune', 'sys/mounts/auth/ldap/+', '/sys/mounts/auth/a*b/*'].map(
  (path) => `path "${path}" { capabilities = ["deny"] }`,
)

t.test('a new policy has no wildcard inside of a path that tunes a login method', async (t) => {
  const { server, root } = await started(t)
  for (const policy of inside) {
    const answer = await server.ask('PUT', '/v1/sys/policies/acl/p', { policy }, root)
    t.equal(answer.status, 400, policy)
    t.match(answer.body, /at its end alone/)
  }
  const policy = 'path "sys/mounts/auth/ldap/*" { capabilities = ["deny"] }'
  t.equal((await server.ask('PUT', '/v1/sys/policies/acl/p', { policy }, root)).status, 204)
})

t.test('a policy that is stored already is read', (t) => {
  for (const [at, rules] of inside.slice(1).entries()) {
    t.not(compiled([{ name: `p${at}`, rules }], silentLogger), 'closed', rules)
  }
  for (const [at, rules] of refused.entries()) {
    t.not(compiled([{ name: `p${at}`, rules }], silentLogger), 'closed', rules)
  }
  t.end()
})
