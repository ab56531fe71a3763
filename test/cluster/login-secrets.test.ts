/**
 * No secret of a login is on any disk, in a log line at any level, in an audit line, an archive, a read or a refusal: passwords of
 * service accounts and of users, keys of certificates, tokens of reviewers and of workloads, and the tokens that logins give.
 */
import { get } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { steadyLeadership } from '../support/cluster.ts'
import { Authority } from '../support/certificates.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { filesUnder, foundUnder, heldBy, heldByArchive, planted } from '../support/planted.ts'
import { ldifEntry, person, slapdIsThere, startSlapd } from '../support/slapd.ts'
import { authOf, startTokenCluster, type TokenCluster } from '../support/token-cluster.ts'
import { reviewServer } from '../domains/orchestrator/review-server.ts'
import { pairOf, projected, publicPem, signed } from '../domains/orchestrator/tokens.ts'

const bindpass = planted('bindpass')
const otherBindpass = planted('other')
const password = planted('password')
const wrongPassword = planted('wrong')
const reviewer = planted('reviewer')
const serviceDn = 'cn=planted,dc=test'

/** A line of it that is nowhere else. */
function bodyOf(pem: string): string {
  return pem.split('\n')[1] ?? ''
}

/** The log of a server at its finest, as an operator follows it. */
function monitored(t: Test, all: TokenCluster, at: number) {
  const log = { isOpen: false, text: '' }
  const { http: port } = all.cluster.server(at).spec.ports
  const path = '/v1/agent/monitor?log_level=trace&plain=true'
  const headers = { 'x-service-token': all.root }
  const request = get({ host: '127.0.0.1', port, path, agent: false, headers }, (response) => {
    log.isOpen = true
    response.setEncoding('utf8').on('data', (text: string) => (log.text += text))
  })
  request.on('error', () => undefined)
  t.teardown(() => request.destroy())
  return log
}

void t.test('secrets of logins', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const service = {
    objectClass: ['organizationalRole', 'simpleSecurityObject'],
    cn: 'planted',
    userPassword: bindpass,
  }
  const slapd = await startSlapd(t, {
    ldif: ldifEntry(serviceDn, service) + person({ uid: 'ada', password }),
  })
  const orchestrator = await reviewServer(t)
  const pair = pairOf('P-256')
  const jwt = signed({ alg: 'ES256' }, projected(Date.now()), pair)
  const authority = await Authority.create('Client CA')
  const client = await authority.issue()
  const secrets = [
    bindpass,
    otherBindpass,
    password,
    wrongPassword,
    reviewer,
    jwt,
    bodyOf(client.key),
  ]

  const all = await startTokenCluster(t, {
    config: { audit: { enabled: true } },
    raft: { ...steadyLeadership, compact_bytes: '1MiB' },
    logLevel: 'trace',
  })
  const { cluster, root } = all
  secrets.push(root)
  const logs = cluster.all.map((at) => monitored(t, all, at))
  await eventuallyTrue('the logs are followed', () => logs.every(({ isOpen }) => isOpen))

  const directory = {
    url: slapd.url,
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    binddn: serviceDn,
    bindpass,
    client_tls_cert: client.cert,
    client_tls_key: client.key,
    use_token_groups: false,
  }
  const method = {
    orchestrator_host: orchestrator.url,
    orchestrator_ca_cert: orchestrator.authority,
    pem_keys: [publicPem(pair)],
    token_reviewer_jwt: reviewer,
  }
  const role = {
    bound_service_account_names: 'till',
    bound_service_account_namespaces: 'shop',
    token_policies: 'till',
  }
  await all.asRoot('POST /v1/auth/ldap/config', directory)
  await all.asRoot('POST /v1/auth/orchestrator/config', method)
  await all.asRoot('POST /v1/auth/orchestrator/role/till', role)
  const given: string[] = []
  for (const at of cluster.all) {
    const one = await all.login(at, 'ldap', 'ada', password)
    const two = authOf(
      await all.settled(at, null, 'POST /v1/auth/orchestrator/login', { role: 'till', jwt }),
    )
    const batch = await all.made(at, { type: 'batch', policies: ['till'] })
    given.push(one.client_token, two.client_token, batch.client_token)
    await all.settled(at, one.client_token, 'POST /v1/auth/token/renew-self', {})
  }
  secrets.push(...given)

  /** Refusals, and reads of an operator: all but what the token's own holder asks for. */
  const shown: string[] = []
  const told = async (at: number, token: string | null, of: string, body?: unknown) => {
    const answer = await all.ask(at, token, of, body)
    const held = heldBy(Buffer.from(answer.body), secrets)
    if (held.length > 0) shown.push(`${of}: ${answer.status}: ${held.join()}`)
    return answer.status
  }
  const first = given[0] ?? ''
  const accessor = JSON.parse(await all.settled(0, first, 'GET /v1/auth/token/lookup-self')) as {
    readonly data: { readonly accessor: string }
  }
  for (const at of cluster.all) {
    for (const of of [
      'GET /v1/auth/ldap/config',
      'GET /v1/auth/orchestrator/config',
      'GET /v1/auth/orchestrator/role/till',
      'GET /v1/sys/auth',
      'GET /v1/sys/locked-users',
      'LIST /v1/auth/token/accessors',
      'GET /v1/acl/tokens',
      `GET /v1/acl/token/${accessor.data.accessor}`,
      'GET /v1/agent/self',
      'GET /v1/vars',
      'GET /v1/vars?namespace=*',
      'GET /v1/metrics',
    ]) {
      t.equal(await told(at, root, of), 200, of)
    }
    const lookup = { accessor: accessor.data.accessor }
    t.equal(await told(at, root, 'POST /v1/auth/token/lookup-accessor', lookup), 200)
    for (const [status, token, of, body] of [
      [400, null, 'POST /v1/auth/ldap/login/eve', { password: wrongPassword }],
      [400, null, 'POST /v1/auth/ldap/login/ada', { password: [wrongPassword] }],
      [400, null, 'POST /v1/auth/ldap/login/ada', { passwort: wrongPassword }],
      [400, null, `POST /v1/auth/ldap/login/${'x'.repeat(40)}`, { password: wrongPassword }],
      [404, null, 'POST /v1/auth/nowhere/login/ada', { password: wrongPassword }],
      [403, wrongPassword, 'GET /v1/auth/token/lookup-self', undefined],
      [403, null, 'POST /v1/auth/orchestrator/login', { role: 'till', jwt: `${jwt}x` }],
      [400, null, 'POST /v1/auth/orchestrator/login', { role: 'none', jwt }],
      [
        400,
        root,
        'POST /v1/auth/ldap/config',
        { ...directory, bindpass: otherBindpass, groupfilter: '{{' },
      ],
      [400, root, 'POST /v1/auth/ldap/config', { client_tls_key: otherBindpass }],
      [400, root, 'POST /v1/auth/orchestrator/config', { token_reviewer_jwt: reviewer }],
      [403, first, 'POST /v1/auth/ldap/config', { ...directory, bindpass: otherBindpass }],
      [200, root, 'POST /v1/sys/auth/ldap/explain', { username: 'ada', password }],
      [200, root, 'POST /v1/sys/auth/ldap/explain', { username: 'eve', password: wrongPassword }],
      [200, root, 'POST /v1/sys/auth/orchestrator/explain', { role: 'till', jwt }],
    ] as const) {
      t.equal(await told(at, token, of, body), status, of)
    }
    // Misplaced: in the path and in the query.
    await told(at, null, `GET /v1/auth/ldap/config?token=${first}`)
    await told(at, null, `POST /v1/auth/ldap/login/ada?password=${wrongPassword}`, {})
    await all.asRoot('POST /v1/auth/token/lookup', { token: first })
  }
  await all.asRoot('POST /v1/auth/ldap/config/rotate-root')
  for (const at of cluster.all) await all.login(at, 'ldap', 'ada', password)
  t.same(shown, [], 'in no answer')

  const archives = await Promise.all(
    ['/v1/operator/snapshot', '/v1/snapshot'].map((path) =>
      cluster.http(0).request('GET', path, { headers: { 'x-service-token': root } }),
    ),
  )
  const [own, consul] = archives.map(({ body }) => body)
  if (own === undefined || consul === undefined) throw new Error('two archives')
  t.same(await heldByArchive(own, secrets), [], 'not in an archive')
  t.same(heldBy(gunzipSync(consul), secrets), [], 'nor in one of the other form')
  for (const { text } of logs) {
    t.match(text, /orchestrator|directory/, 'the log tells of logins')
    t.same(heldBy(Buffer.from(text), secrets), [], 'but no secret')
  }
  for (const state of ['running', 'killed']) {
    if (state === 'killed') await Promise.all(cluster.all.map((at) => cluster.kill(at)))
    const files = await filesUnder(cluster.folder)
    t.equal(files.filter((file) => file.endsWith('audit.log')).length, cluster.size)
    t.same(await foundUnder(cluster.folder, secrets), [], `in none of ${files.length} files`)
  }
})
