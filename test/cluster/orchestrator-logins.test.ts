/**
 * Service accounts log in at three servers while the leader is killed: whichever server is asked, what it acknowledged is good on
 * all, and no token, neither the reviewer's nor a JWT, is on any disk or in any log.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startCluster, steadyLeadership } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { reviewServer } from '../domains/orchestrator/review-server.ts'
import { pairOf, projected, publicPem, signed } from '../domains/orchestrator/tokens.ts'

const reviewer = 'token-of-the-reviewer-which-is-planted-here'
const loginsAtOnce = 8
const loginsOfEach = 12

void t.test('logins go on over the death of a leader', async (t) => {
  const cluster = await startCluster(t, {
    config: { acl: { enabled: true } },
    raft: steadyLeadership,
    writeFirst: false,
    logLevel: 'trace',
  })
  const orchestrator = await reviewServer(t)
  const pair = pairOf('P-256')
  const ask = (at: number, method: string, path: string, token: string, body?: unknown) =>
    cluster.http(at).request(method, path, {
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(token !== '' && { headers: { 'x-vault-token': token } }),
    })
  const done = (at: number, method: string, path: string, token: string, body?: unknown) =>
    eventually(`${method} ${path}`, async () => {
      const { status, body: text } = await ask(at, method, path, token, body)
      if (status === 200 || status === 204) return text.toString()
      throw new Error(`${status} ${text.toString()}`)
    })
  const follower = await cluster.follower()
  const made = await done(follower, 'PUT', '/v1/acl/bootstrap', '')
  const { SecretID: root } = JSON.parse(made) as { readonly SecretID: string }
  const rules = 'key_prefix "till/" { policy = "write" }'
  await done(follower, 'PUT', '/v1/acl/policy/till', root, { Rules: rules })
  await done(follower, 'POST', '/v1/auth/orchestrator/config', root, {
    orchestrator_host: orchestrator.url,
    orchestrator_ca_cert: orchestrator.authority,
    pem_keys: [publicPem(pair)],
    token_reviewer_jwt: reviewer,
  })
  await done(follower, 'POST', '/v1/auth/orchestrator/role/till', root, {
    bound_service_account_names: 'till',
    bound_service_account_namespaces: 'shop',
    token_policies: 'till',
  })
  const jwt = signed({ alg: 'ES256' }, projected(Date.now()), pair)
  const logIn = async (at: number): Promise<string | null> => {
    const body = { role: 'till', jwt }
    const answer = await ask(at, 'POST', '/v1/auth/orchestrator/login', '', body).catch(() => null)
    if (answer === null || answer.status >= 500) return null
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body.toString()}`)
    const { auth } = JSON.parse(answer.body.toString()) as { auth: { client_token: string } }
    return auth.client_token
  }
  for (const at of cluster.all) t.ok(await logIn(at), `server ${at} logs people in`)
  t.ok(
    orchestrator.reviews.every(({ authorization }) => authorization === `Bearer ${reviewer}`),
    'each server opens what the leader sealed',
  )

  const leader = await cluster.waitForLeader()
  const acknowledged: string[] = []
  const rest = cluster.all.filter((at) => at !== leader)
  let failed = 0
  const workers = Array.from({ length: loginsAtOnce }, async (_, number) => {
    const at = rest[number % rest.length] ?? follower
    for (let left = loginsOfEach; left > 0;) {
      const token = await logIn(at)
      if (token === null) failed += 1
      else {
        acknowledged.push(token)
        left -= 1
      }
    }
  })
  await eventually('some logged in', async () => (acknowledged.length > 10 ? true : undefined))
  await cluster.kill(leader)
  await Promise.all(workers)
  await cluster.waitForLeader({ except: leader })
  t.equal(acknowledged.length, loginsAtOnce * loginsOfEach, `${failed} were not acknowledged`)
  t.equal(new Set(acknowledged).size, acknowledged.length)
  for (const at of rest) {
    for (const token of acknowledged) {
      const { status } = await ask(at, 'GET', '/v1/auth/token/lookup-self', token)
      if (status !== 200) t.fail(`server ${at} does not know an acknowledged token: ${status}`)
    }
  }

  const [one = ''] = acknowledged
  const at = rest[0] ?? follower
  await done(at, 'DELETE', '/v1/sys/auth/orchestrator', root)
  for (const server of rest) {
    await eventually('tokens of the method end everywhere', async () => {
      const { status } = await ask(server, 'GET', '/v1/kv/till/a', one)
      return status === 403 ? true : undefined
    })
  }

  const planted = [reviewer, jwt.split('.')[2] ?? '', one]
  const entries = await readdir(cluster.folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((entry) => entry.isFile())) {
    const file = join(entry.parentPath, entry.name)
    const content = await readFile(file).catch(() => Buffer.alloc(0))
    for (const text of planted) if (content.includes(text)) t.fail(`${file} holds a secret`)
  }
})
