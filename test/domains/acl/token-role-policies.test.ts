/** What policies a token has by a role of the token endpoints. */
import t from 'tap'
import type { ServerOfOne } from '../server-of-one.ts'
import { started } from './started.ts'

type Auth = { readonly client_token: string; readonly policies: readonly string[] }

const makerOf =
  (server: ServerOfOne) =>
  async (token: string, body: object, role?: string): Promise<Auth> => {
    const path = role === undefined ? 'create' : `create/${role}`
    const answer = await server.ask('POST', `/v1/auth/token/${path}`, body, token)
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
    return (answer.json() as { readonly auth: Auth }).auth
  }

void t.test(
  'by a role that disallows policies alone a child begins with those of its parent',
  async (t) => {
    const { server, root } = await started(t)
    const make = makerOf(server)
    const put = (url: string, body: object) => server.ask('PUT', url, body, root)
    const rules = 'path "auth/token/create/*" { capabilities = ["update"] }'
    for (const name of ['makes', 'by-role']) await put(`/v1/acl/policy/${name}`, { Rules: rules })
    await put('/v1/acl/role/all', { Policies: ['by-role'] })
    await put('/v1/auth/token/roles/ci', { disallowed_policies: ['ops'] })
    await put('/v1/auth/token/roles/glob', { disallowed_policies_glob: ['op*', 'defaul*'] })
    const { client_token: parent } = await make(root, { policies: ['makes'] })
    const child = await make(parent, {}, 'ci')
    t.same(child.policies, ['default', 'makes'])
    const few = { no_default_policy: true }
    const fewer = await make(parent, few, 'ci')
    t.same(fewer.policies, ['makes'])
    t.same((await make(root, {}, 'ci')).policies, ['root'])

    const made = await put('/v1/acl/token', {
      Type: 'client',
      Policies: ['makes'],
      Roles: [{ Name: 'all' }],
    })
    const { SecretID: mixed } = made.json() as { readonly SecretID: string }
    const ofRoles = await make(mixed, {}, 'ci')
    t.same(ofRoles.policies, ['by-role', 'default', 'makes'], 'also those of its roles')
    t.same((await make(mixed, {}, 'glob')).policies, ['by-role', 'makes'])

    const { client_token: other } = await make(root, { policies: ['makes', 'ops'] })
    for (const [token, role, policy] of [
      [other, 'ci', 'ops'],
      [other, 'glob', 'ops'],
      [parent, 'glob', 'default'],
    ] as const) {
      const answer = await server.ask('POST', `/v1/auth/token/create/${role}`, {}, token)
      t.equal(answer.status, 400)
      t.match(answer.json(), { errors: [`the role does not give the policy "${policy}"`] })
    }
  },
)

void t.test('a role with 64 policies gives `default` besides', async (t) => {
  const { server, root } = await started(t)
  const allowed = Array.from({ length: 64 }, (_, place) => `p${place}`)
  await server.ask('POST', '/v1/auth/token/roles/many', { allowed_policies: allowed }, root)
  const { policies } = await makerOf(server)(root, {}, 'many')
  t.same(policies, [...allowed, 'default'].sort())
})
