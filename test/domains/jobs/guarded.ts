/** A server that asks for tokens, and tokens for it. */
import type { Test } from 'tap'
import { serverOfOne } from '../server-of-one.ts'

export async function guarded(t: Test) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const secretOf = (answer: { json(): unknown }) => (answer.json() as { SecretID: string }).SecretID
  const admin = secretOf(await server.ask('PUT', '/v1/acl/bootstrap'))
  let policies = 0
  return {
    server,
    admin,
    /** Of a token with these capabilities in the namespace `default`. */
    tokenWith: async (...capabilities: readonly string[]): Promise<string> => {
      policies += 1
      const list = capabilities.map((name) => JSON.stringify(name)).join(', ')
      const Rules = `namespace "default" { capabilities = [${list}] }`
      await server.ask('PUT', `/v1/acl/policy/p${policies}`, { Rules }, admin)
      const Policies = [{ Name: `p${policies}` }]
      return secretOf(await server.ask('PUT', '/v1/acl/token', { Policies }, admin))
    },
  }
}
