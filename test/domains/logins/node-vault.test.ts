/** The npm client of the secrets service, as it is, against a server: mounts, policies, tokens, logins. */
import nodeVault from 'node-vault'
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { fakeLogin } from './fake-login.ts'

type Answer = { readonly data: Record<string, unknown>; readonly auth: Record<string, unknown> }

t.test('node-vault works unchanged', async (t) => {
  const { domains } = fakeLogin()
  const server = await serverOfOne(t, { domains, acl: { enabled: true } })
  const endpoint = `http://127.0.0.1:${await server.listen()}`
  const begun = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = begun.json() as { SecretID: string }
  const options = { endpoint, requestOptions: { timeout: 30_000 } }
  const vault = nodeVault({ ...options, token: root })

  t.match(await vault.health(), { initialized: true, sealed: false, standby: false })
  t.match(await vault.status(), { sealed: false, initialized: true })
  t.match(await vault.initialized(), { initialized: true })
  t.match(await vault.read('sys/leader'), { ha_enabled: true, leader_address: '127.0.0.1:4647' })

  await vault.enableAuth({ mount_point: 'team', type: 'ldap', description: 'of the team' })
  const mounts = (await vault.auths()) as Answer
  t.match(mounts.data['team/'], { type: 'ldap', description: 'of the team' })
  t.match(mounts, { 'team/': { type: 'ldap' }, 'token/': { type: 'token' } })
  await vault.write('sys/auth/team/tune', { default_lease_ttl: '5m' })
  t.match(await vault.read('sys/auth/team/tune'), { data: { default_lease_ttl: 300 } })
  await vault.write('sys/mounts/auth/team/tune', { max_lease_ttl: '1h', default_lease_ttl: '' })
  t.match(await vault.read('sys/mounts/auth/team/tune'), {
    data: { default_lease_ttl: 300, max_lease_ttl: 3_600 },
  })
  t.same(((await vault.list('auth/team/role')) as Answer).data, { keys: ['b', 'team'] })

  const over = 'sys/internal/ui/mounts'
  t.match(await vault.read(`${over}/auth/team/role`), { data: { path: 'auth/team/' } })
  await t.rejects(vault.read(`${over}/auth/none`), { message: /permission denied/ })
  await t.rejects(vault.read(`${over}/secret/a`), { message: /secrets engines are not served/ })

  const rules = 'path "auth/team/*" { capabilities = ["list"] }'
  await vault.addPolicy({ name: 'people', rules })
  t.match(await vault.getPolicy({ name: 'people' }), { data: { name: 'people', rules } })
  const keys = ['default', 'people', 'root']
  t.same(((await vault.policies()) as Answer).data, { keys, policies: keys })

  // A client takes the token of its login for its own.
  const own = nodeVault(options)
  const login = (await own.ldapLogin({
    mount_point: 'team',
    username: 'ada',
    password: 'adaada',
  })) as Answer
  t.match(login.auth, {
    policies: ['default', 'people'],
    metadata: { username: 'ada' },
    lease_duration: 300,
  })
  t.match(await own.tokenLookupSelf(), { data: { display_name: 'team-ada', ttl: Number } })
  t.match(await own.tokenRenewSelf(), { auth: { renewable: true, lease_duration: 300 } })
  t.same(
    ((await own.write('sys/capabilities-self', { paths: ['auth/team/role'] })) as Answer).data,
    { 'auth/team/role': ['list'], capabilities: ['list'] },
  )
  t.match(await own.list('auth/team/role'), { data: { keys: ['b', 'team'] } })
  await t.rejects(own.auths(), { message: 'permission denied' })
  await own.tokenRevokeSelf()
  await t.rejects(own.tokenLookupSelf(), { message: 'permission denied' })

  const maker = nodeVault({ ...options, token: root })
  const made = (await maker.tokenCreate({ policies: ['people'], ttl: '1h' })) as Answer
  const accessor = String(made.auth['accessor'])
  t.match(await vault.tokenLookupAccessor({ accessor }), {
    data: { policies: ['default', 'people'] },
  })
  t.same(
    (
      (await vault.write('sys/capabilities-accessor', {
        accessor,
        path: 'auth/team/role',
      })) as Answer
    ).data,
    { 'auth/team/role': ['list'], capabilities: ['list'] },
  )
  await vault.tokenRevokeAccessor({ accessor })
  await t.rejects(vault.tokenLookupAccessor({ accessor }))

  await vault.removePolicy({ name: 'people' })
  await vault.disableAuth({ mount_point: 'team' })
  await t.rejects(vault.list('auth/team/role'), { message: 'Status 404' })
})
