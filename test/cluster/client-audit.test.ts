/** The audit log of a client agent: its own requests and those it passes on, beside the lines of the servers. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { auditFolder, auditLines, auditText, type AuditLine } from '../support/audit-lines.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient, Reply } from '../support/http-client.ts'

const secret = 'the-first-SECRET.0123456789abcdef0123456789'
const wrong = 'wrong-token-SECRET.0123456789'

function ask(
  http: HttpClient,
  id: string,
  token: string | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> {
  return http.request(method, path, {
    headers: { 'x-request-id': id, ...(token !== null && { 'x-service-token': token }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

void t.test('a line for each request, with the hashes that servers write', async (t) => {
  const audit = { enabled: true }
  const acl = { enabled: true }
  const cluster = await startCluster(t, {
    gossip: true,
    config: { acl: { ...acl, bootstrap_token: secret }, audit },
    writeFirst: false,
  })
  for (const at of cluster.all) {
    await eventuallyTrue(`server ${at} knows the token and the key of hashes`, async () => {
      await ask(cluster.http(at), 'self', secret, 'GET', '/v1/acl/token/self')
      const lines = await auditLines(cluster.server(at))
      return lines.some(({ id, token }) => id === 'self' && token !== null)
    })
  }
  const config = { acl: { ...acl, agent_token: secret }, audit }
  const client = await startClientAgent(t, cluster, { config })
  const first = await ask(cluster.http(0), 'self', secret, 'GET', '/v1/acl/token/self')
  const { AccessorID: accessor } = JSON.parse(first.body.toString()) as { AccessorID: string }
  const service = { Name: 'web', Port: 80 }

  const inTheClear = /tokens of callers travel in the clear, .*set tls\.folder or tls\.ca_file/
  t.match(await client.process.logTail(10_000), inTheClear)
  t.match(await client.http.json('GET', '/v1/agent/health'), { client: { detail: inTheClear } })
  await cluster.logged(0, /\[WARN\] .*RPC is open: any process that reaches its port/)
  const health = await cluster.http(0).json('GET', '/v1/agent/health')
  t.match(health, { server: { detail: /RPC is open/ } })

  // Passed on first: nobody has asked who brings this token.
  const asked = [
    await ask(client.http, 'put', secret, 'PUT', '/v1/kv/a', 'b'),
    await ask(client.http, 'register', secret, 'PUT', '/v1/agent/service/register', service),
    await ask(client.http, 'refused', null, 'PUT', '/v1/agent/service/register', service),
    await ask(client.http, 'wrong', wrong, 'GET', '/v1/kv/a'),
    await ask(client.http, 'query', null, 'GET', `/v1/kv/a?raw&token=${secret}`),
    await ask(client.http, 'misplaced', null, 'GET', `/v1/acl/token/${secret}`),
    await ask(client.http, 'session', secret, 'PUT', '/v1/session/create', { Name: 's' }),
  ]
  t.same(
    asked.map(({ status }) => status),
    [200, 200, 403, 403, 200, 403, 200],
  )
  const written = async (ids: readonly string[]) => {
    const lines = new Map<unknown, AuditLine>()
    await eventuallyTrue(`${ids.join(', ')} are written`, async () => {
      for (const line of await auditLines(client.process)) lines.set(line['id'], line)
      return ids.every((id) => lines.has(id))
    })
    return (id: string) => lines.get(id) ?? {}
  }
  const line = await written([
    'put',
    'register',
    'refused',
    'wrong',
    'query',
    'misplaced',
    'session',
  ])
  const servers = await Promise.all(cluster.all.map((at) => auditLines(cluster.server(at))))
  const atServers = (id: string) => servers.flat().filter((found) => found['id'] === id)

  const mine = { server: 'c1', accessor, token: atServers('self').at(-1)?.['token'] }
  t.match(mine.token, /^hmac-sha256:/)
  t.match(line('put'), { ...mine, path: '/v1/kv/a', route: null, status: 200, forwarded: true })
  t.match(line('register'), {
    ...mine,
    route: '/v1/agent/service/register',
    status: 200,
    forwarded: false,
  })
  t.match(line('refused'), { accessor: 'anonymous', token: null, status: 403, forwarded: false })
  t.match(line('wrong'), { accessor: 'unknown', token: null, status: 403, forwarded: true })
  t.match(line('query'), { ...mine, path: '/v1/kv/a?raw&token=<redacted>' })
  t.match(line('misplaced'), { path: '/v1/acl/token/<redacted>' })
  t.match(line('session'), { ...mine, route: '/v1/session/create', forwarded: true })
  t.match(atServers('put'), [{ accessor, token: mine.token, call: 'kv.write', status: 200 }])
  t.same(atServers('refused'), [], 'no server heard of it')

  // A file of another name, and without access to the servers.
  const { configFile, logFile, pid } = client.process
  const folder = auditFolder(client.process)
  await rename(join(folder, 'audit.log'), join(folder, 'moved.log'))
  const changed = JSON.parse(await readFile(configFile, 'utf8')) as object
  await writeFile(configFile, JSON.stringify({ ...changed, audit: { ...audit, required: true } }))
  process.kill(pid ?? 0, 'SIGHUP')
  await eventuallyTrue('the configuration is read', async () => {
    return (await readFile(logFile, 'utf8')).includes(' read again')
  })
  for (const at of cluster.all) await cluster.kill(at)
  t.equal((await ask(client.http, 'alone', secret, 'GET', '/v1/kv/a')).status, 500)
  t.equal((await ask(client.http, 'new', `${secret}x`, 'GET', '/v1/kv/a')).status, 500)
  const later = await written(['alone', 'new'])
  t.match(later('alone'), { ...mine, status: 500 }, 'who was known before')
  t.match(later('new'), { accessor: 'unknown', token: null, status: 500 })
  for (const word of [secret, wrong]) {
    t.notOk((await auditText(client.process)).includes(word), `no ${word.slice(0, 8)}`)
    t.notOk((await readFile(join(folder, 'moved.log'), 'utf8')).includes(word))
  }
})
