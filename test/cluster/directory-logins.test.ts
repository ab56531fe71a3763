/**
 * Logins by a directory over three servers whose leader is killed: no acknowledged token is missing, the directory's password
 * stays known, and no secret is on any disk or in any log line.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { person, serviceDn, servicePassword, slapdIsThere, startSlapd } from '../support/slapd.ts'

const password = 'planted-password-of-ada-4711'
const kills = 2

type Asked = { readonly status: number; readonly body: string }

async function ask(
  cluster: Cluster,
  at: number,
  method: string,
  path: string,
  { token, body }: { readonly token?: string; readonly body?: unknown } = {},
): Promise<Asked> {
  const reply = await cluster.http(at).request(method, path, {
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(token !== undefined && { headers: { 'x-service-token': token } }),
  })
  return { status: reply.status, body: reply.body.toString() }
}

void t.test('logins while leaders die', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const slapd = await startSlapd(t, { ldif: person({ uid: 'ada', password }) })
  const cluster = await startCluster(t, {
    config: { acl: { enabled: true } },
    writeFirst: false,
    logLevel: 'trace',
  })
  const root = await eventually('the first token', async () => {
    const answer = await ask(cluster, await cluster.waitForLeader(), 'PUT', '/v1/acl/bootstrap')
    return (JSON.parse(answer.body) as { SecretID: string }).SecretID
  })
  const config = {
    url: slapd.url,
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    binddn: serviceDn,
    bindpass: servicePassword,
    use_token_groups: false,
  }
  await eventuallyTrue('the method is configured', async () => {
    const at = await cluster.waitForLeader()
    const written = { token: root, body: config }
    return (await ask(cluster, at, 'POST', '/v1/auth/ldap/config', written)).status === 204
  })

  const acknowledged: string[] = []
  const logIn = async (at: number): Promise<boolean> => {
    const answer = await ask(cluster, at, 'POST', '/v1/auth/ldap/login/ada', {
      body: { password },
    }).catch(() => null)
    if (answer?.status !== 200) return false
    const { auth } = JSON.parse(answer.body) as { auth: { client_token: string } }
    acknowledged.push(auth.client_token)
    return true
  }
  const over = new AbortController()
  const workers = cluster.all.map(async (at) => {
    while (!over.signal.aborted) await logIn(at)
  })
  for (let kill = 0; kill < kills; kill += 1) {
    const before = acknowledged.length
    const leader = await cluster.waitForLeader()
    await eventuallyTrue('logins go on', () => acknowledged.length > before + 20)
    // Killed while it replaces the password of the service account.
    const rotation = ask(cluster, leader, 'POST', '/v1/auth/ldap/config/rotate-root', {
      token: root,
    }).catch(() => null)
    await cluster.kill(leader)
    await rotation
    await cluster.waitForLeader({ except: leader })
    await cluster.restart(leader)
  }
  over.abort()
  await Promise.all(workers)
  t.comment(`${acknowledged.length} logins`)
  for (const at of cluster.all) {
    await eventuallyTrue('everybody logs in everywhere', () => logIn(at))
    let missing = 0
    for (const token of acknowledged) {
      const answer = await ask(cluster, at, 'GET', '/v1/auth/token/lookup-self', { token })
      if (answer.status !== 200) missing += 1
    }
    t.equal(missing, 0, 'no acknowledged token is missing')
  }
  await eventuallyTrue('the password can be replaced', async () => {
    const at = await cluster.waitForLeader()
    const { status } = await ask(cluster, at, 'POST', '/v1/auth/ldap/config/rotate-root', {
      token: root,
    })
    return status === 204
  })
  t.ok(await logIn(0), 'and logins go on')

  await Promise.all(cluster.all.map((at) => cluster.kill(at)))
  const entries = await readdir(cluster.folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((entry) => entry.isFile())) {
    const file = join(entry.parentPath, entry.name)
    const content = await readFile(file).catch(() => Buffer.alloc(0))
    for (const secret of [password, servicePassword]) {
      if (content.includes(secret)) t.fail(`${file} holds a password`)
    }
  }
})
