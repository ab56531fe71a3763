/** Policies under the names that clients of the secrets service know. */
import t from 'tap'
import { vaultNamesVersion } from '../../../src/domains/acl/model.ts'
import { serverOfOne } from '../server-of-one.ts'
import { started } from './started.ts'

void t.test('built-in policies: root is not written, and neither is deleted', async (t) => {
  const { server, root } = await started(t)
  const policy = 'path "auth/token/lookup-self" { capabilities = ["read"] }'
  for (const path of ['/v1/sys/policies/acl', '/v1/sys/policy']) {
    const ask = (method: string, name: string) =>
      server.ask(method, `${path}/${name}`, method === 'PUT' ? { policy } : undefined, root)
    for (const [method, name, text] of [
      ['PUT', 'root', 'the policy root is built in and cannot be written'],
      ['PUT', 'ROOT', 'the policy root is built in and cannot be written'],
      ['DELETE', 'root', 'the policy root is built in and cannot be deleted'],
      ['DELETE', 'default', 'the policy default is built in and cannot be deleted'],
    ] as const) {
      const answer = await ask(method, name)
      t.equal(answer.status, 400, `${method} ${name}`)
      t.same(answer.json(), { errors: [text] })
    }
    t.equal((await server.ask('DELETE', `${path}/default`)).status, 403, 'rights are judged first')
    t.equal((await ask('DELETE', 'none')).status, 204)
    t.equal((await ask('PUT', 'default')).status, 204, 'an operator replaces it')
    t.match((await ask('GET', 'default')).body, 'lookup-self')
    t.notMatch((await ask('GET', 'default')).body, 'renew-self')
    t.equal((await ask('DELETE', 'default')).status, 204, 'and has the built-in one again')
    t.match((await ask('GET', 'default')).body, 'renew-self')
  }
})

void t.test('root is the last of the list, and its text is empty', async (t) => {
  const { server, root } = await started(t)
  const json = async (method: string, url: string) =>
    (await server.ask(method, url, undefined, root)).json() as Record<string, unknown>
  const policy = 'path "auth/token/lookup-self" { capabilities = ["read"] }'
  for (const name of ['zero', 'all', 'root']) {
    const body = { Rules: policy }
    t.equal((await server.ask('PUT', `/v1/acl/policy/${name}`, body, root)).status, 200, name)
  }
  const keys = ['all', 'default', 'zero', 'root']
  for (const method of ['GET', 'LIST']) {
    t.same((await json(method, '/v1/sys/policies/acl'))['data'], { keys })
    const older = await json(method, '/v1/sys/policy')
    t.same(older['data'], { keys, policies: keys })
    t.match(older, { keys, policies: keys, auth: null }, 'beside data, for older clients')
  }
  const read = async (url: string) => (await json('GET', url))['data']
  t.same(await read('/v1/sys/policies/acl/root'), { name: 'root', policy }, 'of an operator')
  await server.ask('DELETE', '/v1/sys/policies/acl/root', undefined, root)
  t.same(await read('/v1/sys/policies/acl/root'), { name: 'root', policy: '' })
  t.match(await json('GET', '/v1/sys/policy/ROOT'), {
    name: 'root',
    rules: '',
    data: { name: 'root', rules: '' },
  })
  t.same(await read('/v1/sys/policies/acl/none'), undefined)
})

void t.test('names are such as Vault takes, slashes included', async (t) => {
  const { server, root } = await started(t)
  const ask = (method: string, url: string, body?: unknown) => server.ask(method, url, body, root)
  const policy = 'key_prefix "team/" { policy = "write" }'
  for (const [sent, name] of [
    ['team/Dev', 'team/dev'],
    ['a.b:c%20d', 'a.b:c d'],
    ['gr%C3%BCn', 'grün'],
    ['x%2Fy', 'x/y'],
    ['slash/', 'slash'],
  ] as const) {
    for (const path of ['/v1/sys/policies/acl', '/v1/sys/policy']) {
      const url = `${path}/${sent}`
      t.equal((await ask('PUT', url, { policy })).status, 204, url)
      t.match((await ask('GET', url)).json(), { data: { name } })
      t.ok((await ask('GET', path)).body.includes(JSON.stringify(name)))
      t.equal((await ask('DELETE', url)).status, 204)
      t.equal((await ask('GET', url)).status, 404)
    }
  }
  await ask('PUT', '/v1/sys/policies/acl/team/dev', { policy })
  const made = await ask('POST', '/v1/auth/token/create', { policies: ['team/dev'] })
  const { auth } = made.json() as { readonly auth: { readonly client_token: string } }
  t.equal((await server.ask('PUT', '/v1/kv/team/a', 'x', auth.client_token)).status, 200)
  t.equal((await server.ask('PUT', '/v1/kv/other', 'x', auth.client_token)).status, 403)
  const ofOperator = await ask('PUT', '/v1/acl/token', { Policies: ['team/dev'] })
  t.match(ofOperator.json(), { Policies: ['team/dev'] })
  t.match((await ask('GET', '/v1/acl/policies')).json(), [{ Name: 'team/dev' }])

  const long = 'x'.repeat(129)
  for (const name of ['%20a', 'a%20', '/a', long, 'İ'.repeat(128)]) {
    for (const path of ['/v1/sys/policies/acl', '/v1/sys/policy']) {
      const answer = await ask('PUT', `${path}/${encodeURI(decodeURI(name))}`, { policy })
      t.equal(answer.status, 400, name)
      t.match(answer.json(), { errors: [/printable characters, without a slash or a blank/] })
    }
  }
  t.equal((await ask('PUT', '/v1/acl/policy/a.b', { Rules: policy })).status, 400)
})

void t.test(
  'names that an older leader would call wrong wait until all servers know them',
  async (t) => {
    const acl = { enabled: true }
    const server = await serverOfOne(t, {
      acl,
      begin: false,
      commandVersion: vaultNamesVersion - 1,
    })
    const made = await server.ask('PUT', '/v1/acl/bootstrap')
    const { SecretID: root } = made.json() as { readonly SecretID: string }
    const body = { policy: 'key_prefix "team/" { policy = "write" }' }
    const write = (name: string) => server.ask('PUT', `/v1/sys/policies/acl/${name}`, body, root)
    t.match(await write('team/x'), { status: 501, body: /command version 20/ })
    t.equal((await write('team-x')).status, 204)
    await server.propose({ type: 'state.raiseVersion', args: { version: vaultNamesVersion } })
    t.equal((await write('team/x')).status, 204)
  },
)
