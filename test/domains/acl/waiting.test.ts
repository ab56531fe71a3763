/** Whoever waits for a change is refused as soon as the right to it is gone, not at the end of the wait. */
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'

type Made = { readonly AccessorID: string; readonly SecretID: string }

async function start(t: Test, { begin = false } = {}) {
  const server = await serverOfOne(t, { begin, acl: { enabled: true } })
  const root = ((await server.ask('PUT', '/v1/acl/bootstrap')).json() as Made).SecretID
  const manage = async (method: string, path: string, body?: unknown) => {
    const answer = await server.ask(method, path, body, root)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.body}`)
    return answer
  }
  const allow = (policy: string, prefix: string) =>
    manage('PUT', `/v1/acl/policy/${policy}`, {
      Rules: `key_prefix "${prefix}" { policy = "read" }`,
    })
  await allow('keys', 'app/')
  await manage('PUT', '/v1/acl/role/readers', { Policies: ['keys'] })
  await manage('PUT', '/v1/kv/app/a', 'one')
  const token = async (grants: object) =>
    (await manage('PUT', '/v1/acl/token', grants)).json() as Made
  /** Waits for a change of the key. */
  const wait = async (secret: string | undefined) => {
    const parked = server.machine.watchStats().parked
    const path = `/v1/kv/app/a?index=${server.machine.appliedIndex}&wait=60s`
    const answer = server.ask('GET', path, undefined, secret)
    await eventuallyTrue('it waits', () => server.machine.watchStats().parked > parked)
    return { answer }
  }
  return { server, manage, allow, token, wait }
}

void t.test('a token that is revoked', async (t) => {
  const { manage, token, wait } = await start(t)
  const { SecretID, AccessorID } = await token({ Policies: ['keys'] })
  const { answer } = await wait(SecretID)
  await manage('DELETE', `/v1/acl/token/${AccessorID}`)
  t.equal((await answer).status, 403)
})

void t.test('a token whose time is over, also one that is stored nowhere', async (t) => {
  const { manage, wait } = await start(t, { begin: true })
  for (const type of ['service', 'batch']) {
    const made = await manage('POST', '/v1/auth/token/create', {
      type,
      policies: ['keys'],
      ttl: '1s',
    })
    const { auth } = made.json() as { readonly auth: { readonly client_token: string } }
    const { answer } = await wait(auth.client_token)
    t.equal((await answer).status, 403, type)
  }
})

void t.test('the end of the wait, long before that of the token', async (t) => {
  const { manage, server } = await start(t)
  const made = await manage('POST', '/v1/auth/token/create', { policies: ['keys'], ttl: '1h' })
  const { auth } = made.json() as { readonly auth: { readonly client_token: string } }
  const path = `/v1/kv/app/a?index=${server.machine.appliedIndex}&wait=100ms`
  t.equal((await server.ask('GET', path, undefined, auth.client_token)).status, 200)
})

void t.test(
  'a policy that says something else, also by a role, also of callers without a token',
  async (t) => {
    const { allow, manage, token, wait } = await start(t)
    const { SecretID } = await token({ Roles: [{ Name: 'readers' }] })
    const byRole = await wait(SecretID)
    await allow('keys', 'other/')
    t.equal((await byRole.answer).status, 403)
    await allow('anonymous', 'app/')
    const nobody = await wait(undefined)
    await manage('DELETE', '/v1/acl/policy/anonymous')
    t.equal((await nobody.answer).status, 403)
  },
)

void t.test('who may read on waits on, through changes of rights', async (t) => {
  const { allow, manage, token, wait, server } = await start(t)
  const { SecretID } = await token({ Policies: ['keys'] })
  const reader = await wait(SecretID)
  await allow('keys', 'app/a')
  await eventuallyTrue('it waits again', () => server.machine.watchStats().parked === 1)
  await allow('unrelated', 'app/')
  await manage('PUT', '/v1/kv/app/a', 'two')
  const answer = await reader.answer
  t.equal(answer.status, 200)
  t.match(answer.body, Buffer.from('two').toString('base64'))
})
