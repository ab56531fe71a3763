/** A server with access control, and its first token. */
import { serverOfOne } from '../server-of-one.ts'

export async function started(t: Parameters<typeof serverOfOne>[0]) {
  const server = await serverOfOne(t, {
    acl: { enabled: true, defaultPolicy: 'deny' },
    begin: false,
  })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  return { server, root }
}
