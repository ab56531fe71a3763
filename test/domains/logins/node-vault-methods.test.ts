/** The npm client of the secrets service, as it is, logs in by a real directory and by a service account. */
import nodeVault from 'node-vault'
import t from 'tap'
import { serviceOfOne } from '../orchestrator/service-of-one.ts'
import {
  group,
  person,
  personDn,
  serviceDn,
  servicePassword,
  slapdIsThere,
  startSlapd,
} from '../../support/slapd.ts'

type Answer = { readonly data: Record<string, unknown>; readonly auth: Record<string, unknown> }

t.test('a person: mount, configuration, groups, the life of the token, unmounted', async (t) => {
  if (!slapdIsThere(t)) return
  const slapd = await startSlapd(t, {
    ldif: [
      person({ uid: 'ada', password: 'ada-password' }),
      group('Engineers', [personDn({ uid: 'ada' })]),
    ].join(''),
  })
  const { server, root } = await serviceOfOne(t)
  const endpoint = `http://127.0.0.1:${await server.listen()}`
  const vault = nodeVault({ endpoint, token: root })
  await vault.enableAuth({ mount_point: 'corp', type: 'ldap' })
  await vault.write('auth/corp/config', {
    url: slapd.url,
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    groupdn: 'ou=groups,dc=test',
    binddn: serviceDn,
    bindpass: servicePassword,
    use_token_groups: false,
    token_ttl: '10m',
  })
  t.match(await vault.read('auth/corp/config'), { data: { url: slapd.url, token_ttl: 600 } })
  await vault.write('auth/corp/groups/engineers', { policies: 'writers' })
  await vault.write('auth/corp/users/ada', { policies: 'own' })
  t.match(await vault.list('auth/corp/groups'), { data: { keys: ['engineers'] } })
  await vault.addPolicy({
    name: 'writers',
    rules: 'path "auth/corp/users/*" { capabilities = ["read"] }',
  })

  const own = nodeVault({ endpoint })
  const credentials = { mount_point: 'corp', username: 'ada', password: 'ada-password' }
  const { auth } = (await own.ldapLogin(credentials)) as Answer
  t.match(auth, {
    policies: ['default', 'own', 'writers'],
    metadata: { username: 'ada' },
    lease_duration: 600,
    renewable: true,
    entity_id: /^[0-9a-f-]{36}$/,
  })
  t.match(await own.tokenLookupSelf(), {
    data: { display_name: 'corp-ada', path: 'auth/corp/login/ada', entity_id: auth['entity_id'] },
  })
  t.match(await own.tokenRenewSelf(), { auth: { lease_duration: 600 } })
  t.match(await own.read('auth/corp/users/ada'), { data: { policies: ['own'] } })
  await own.tokenRevokeSelf()
  await t.rejects(own.tokenLookupSelf(), { message: 'permission denied' })
  await t.rejects(own.ldapLogin({ ...credentials, password: 'wrong' }), {
    message: 'ldap operation failed: failed to bind as user',
  })

  const last = nodeVault({ endpoint })
  await last.ldapLogin(credentials)
  await vault.disableAuth({ mount_point: 'corp' })
  await t.rejects(last.tokenLookupSelf(), { message: 'permission denied' })
  await t.rejects(own.ldapLogin(credentials), { message: /^no login method is mounted there/ })
})

t.test('a workload: kubernetesLogin at the path and with the names that it knows', async (t) => {
  const { server, root, orchestrator, config, role, jwt } = await serviceOfOne(t)
  const endpoint = `http://127.0.0.1:${await server.listen()}`
  const vault = nodeVault({ endpoint, token: root })
  await vault.enableAuth({ mount_point: 'kubernetes', type: 'kubernetes' })
  await vault.write('auth/kubernetes/config', {
    kubernetes_host: orchestrator.url,
    kubernetes_ca_cert: orchestrator.authority,
    pem_keys: config.pem_keys,
  })
  await vault.write('auth/kubernetes/role/till', { ...role, token_ttl: '5m' })
  const own = nodeVault({ endpoint })
  const login = { mount_point: 'kubernetes', role: 'till' }
  const { auth } = (await own.kubernetesLogin({ ...login, jwt: jwt() })) as Answer
  t.match(auth, {
    policies: ['default', 'till'],
    metadata: { role: 'till', service_account_name: 'till', service_account_namespace: 'shop' },
    lease_duration: 300,
  })
  t.match(await own.tokenLookupSelf(), { data: { display_name: 'kubernetes-shop-till' } })
  t.match(await own.tokenRenewSelf(), { auth: { lease_duration: 300 } })
  await t.rejects(own.kubernetesLogin({ ...login, jwt: jwt({ exp: 1 }) }), {
    message: 'permission denied',
  })
  await vault.delete('auth/kubernetes/role/till')
  await t.rejects(own.tokenRenewSelf())
  await t.rejects(own.kubernetesLogin({ ...login, jwt: jwt() }))
})
