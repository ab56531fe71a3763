/** A token that is gone is revoked by its accessor as one that is there: by whoever may revoke it. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

t.test('whoever may revoke a token finds it gone, and nobody else learns that', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true } })
  const first = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = first.json() as { SecretID: string }
  const made = async () => {
    const answer = await server.ask(
      'POST',
      '/v1/auth/token/create',
      { policies: ['default'] },
      root,
    )
    return (answer.json() as { auth: { client_token: string; accessor: string } }).auth
  }
  const [gone, other] = [await made(), await made()]
  const revoke = async (token: string) => {
    const body = { accessor: gone.accessor }
    return (await server.ask('POST', '/v1/auth/token/revoke-accessor', body, token)).status
  }
  t.equal(await revoke(other.client_token), 403)
  t.equal(await revoke(root), 204)
  t.equal(await revoke(root), 204, 'again')
  t.equal(await revoke(other.client_token), 403)
})
