/**
 * The audit log and the limits of clients over three servers: a line for each request and none of its secrets, rotation,
 * settings that change while requests run, and one client that is refused while all others go on.
 */
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { auditFolder, auditLines, auditText, type AuditLine } from '../support/audit-lines.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { HttpClient, type Reply, type RequestOptions } from '../support/http-client.ts'

/** Writes the server's configuration anew and has it read. */
async function reconfigure(
  cluster: Cluster,
  at: number,
  changes: Readonly<Record<string, unknown>>,
  told = ' read again',
): Promise<void> {
  const { configFile, logFile, pid } = cluster.server(at)
  const config = JSON.parse(await readFile(configFile, 'utf8')) as object
  await writeFile(configFile, JSON.stringify({ ...config, ...changes }))
  const count = async () => (await readFile(logFile, 'utf8')).split(told).length
  const before = await count()
  process.kill(pid ?? 0, 'SIGHUP')
  await eventuallyTrue(`server ${at}: ${told}`, async () => (await count()) > before)
}

async function bootstrap(cluster: Cluster): Promise<{ accessor: string; secret: string }> {
  const body = await eventually('the first token', async () => {
    const reply = await cluster.http(0).request('PUT', '/v1/acl/bootstrap')
    return reply.status === 200 ? reply.body.toString() : undefined
  })
  const token = JSON.parse(body) as { readonly AccessorID: string; readonly SecretID: string }
  return { accessor: token.AccessorID, secret: token.SecretID }
}

void t.test(
  'each request leaves one line at the server it was sent to, and no secret',
  async (t) => {
    const audit = { enabled: true, rotate_bytes: '64KiB', rotate_max_files: 500 }
    const config = { acl: { enabled: true }, audit }
    const cluster = await startCluster(t, { config, writeFirst: false })
    const { accessor, secret } = await bootstrap(cluster)
    const leader = await cluster.waitForLeader()
    const planted = 'planted-SECRET.0123456789abcdef'
    const wrong = 'wrong-token-SECRET.0123456789'
    const ids: string[] = []

    const ask = async (
      at: number,
      name: string,
      method: string,
      path: string,
      { headers = {}, ...rest }: RequestOptions = {},
    ): Promise<Reply> => {
      const id = `${name}-${at}`
      ids.push(id)
      const reply = await cluster
        .http(at)
        .request(method, path, { ...rest, headers: { ...headers, 'x-request-id': id } })
      t.equal(reply.headers['x-request-id'], id)
      return reply
    }
    const mine = { 'x-service-token': secret }

    for (const at of cluster.all) {
      await eventually(`server ${at} takes variables`, async () => {
        const body = JSON.stringify({ Items: { k: planted } })
        const reply = await cluster
          .http(at)
          .request('PUT', `/v1/var/app/${at}`, { body, headers: mine })
        return reply.status === 200 ? true : undefined
      })
      const put = await ask(at, 'put', 'PUT', `/v1/kv/app/${at}?flags=7`, {
        body: planted,
        headers: mine,
      })
      t.equal(put.status, 200)
      const items = JSON.stringify({ Items: { password: planted } })
      await ask(at, 'var', 'PUT', `/v1/var/app/${at}`, { body: items, headers: mine })
      await ask(at, 'get', 'GET', `/v1/kv/app/${at}?raw`, { headers: { 'x-consul-token': secret } })
      await ask(at, 'bearer', 'GET', `/v1/var/app/${at}`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      await ask(at, 'query', 'GET', `/v1/kv/app/${at}?token=${secret}`)
      await ask(at, 'misspelt', 'GET', `/v1/kv/app/${at}?tokn=${planted}&ns=${planted}`, {
        headers: { 'x-service-token': planted },
      })
      await ask(at, 'inpath', 'GET', `/v1/acl/token/${secret}`, { headers: mine })
      await ask(at, 'nowhere', 'GET', `/v1/acl/info/${planted}`)
      await ask(at, 'wrong', 'GET', '/v1/kv/app/0', { headers: { 'x-nomad-token': wrong } })
      await ask(at, 'anonymous', 'GET', '/v1/kv/app/0')
      await ask(at, 'broken', 'PUT', `/v1/var/app/${at}`, {
        body: `{"Items": {"k": ${planted}}`,
        headers: mine,
      })
      await ask(at, 'misused', 'GET', `/v1/kv/app/${at}?index=${planted}`, { headers: mine })
      await ask(at, 'filter', 'GET', `/v1/acl/tokens?filter=Name%20==%20"${planted}"`, {
        headers: mine,
      })
      await ask(at, 'policy', 'PUT', '/v1/acl/policy/p', {
        body: JSON.stringify({ Rules: `key "${planted}" { policy = "write" }` }),
        headers: mine,
      })
      await ask(at, 'explain', 'PUT', '/v1/acl/explain', {
        body: JSON.stringify({ Method: 'GET', Path: '/v1/kv/x', Token: secret }),
        headers: mine,
      })
    }

    const lines = new Map<string, AuditLine>()
    for (const at of cluster.all) {
      await eventuallyTrue(`server ${at} wrote all`, async () => {
        const own = new Set((await auditLines(cluster.server(at))).map(({ id }) => id))
        return ids.filter((id) => id.endsWith(`-${at}`)).every((id) => own.has(id))
      })
      for (const line of await auditLines(cluster.server(at))) {
        t.equal(line['server'], `s${at + 1}`)
        const id = String(line['id'])
        if (!ids.includes(id)) continue
        t.notOk(lines.has(id), `${id} once`)
        lines.set(id, line)
      }
      const text = await auditText(cluster.server(at))
      for (const word of [secret, planted, wrong]) {
        t.notOk(text.includes(word), `no ${word.slice(0, 8)} at ${at}`)
        t.notOk(text.includes(Buffer.from(word).toString('base64').slice(0, 20)), 'nor in base64')
      }
      t.equal((await stat(join(auditFolder(cluster.server(at)), 'audit.log'))).mode & 0o777, 0o600)
    }

    const line = (name: string, at: number): AuditLine => lines.get(`${name}-${at}`) ?? {}
    const hashes = new Set<unknown>()
    for (const at of cluster.all) {
      const forwarded = at !== leader
      t.match(line('put', at), {
        type: 'request',
        remote: '127.0.0.1',
        method: 'PUT',
        path: `/v1/kv/app/${at}?flags=7`,
        route: '/v1/kv/*',
        call: 'kv.write',
        accessor,
        token: /^hmac-sha256:[0-9a-f]{8}:[0-9a-f]{64}$/,
        status: 200,
        error: null,
        forwarded,
      })
      for (const name of ['get', 'bearer', 'query']) {
        t.match(line(name, at), { accessor, status: 200, forwarded: false }, name)
        t.equal(line(name, at)['token'], line('put', at)['token'])
      }
      t.match(line('query', at), { path: `/v1/kv/app/${at}?token=<redacted>` })
      t.match(line('anonymous', at), { accessor: 'anonymous', token: null, status: 403 })
      t.match(line('wrong', at), {
        accessor: 'unknown',
        status: 403,
        error: /^ACL token not found/,
      })
      t.match(line('nowhere', at), { path: '/v1/acl/info/<redacted>', route: null, status: 501 })
      t.match(line('broken', at), { status: 400, error: /./ })
      t.match(line('misused', at), { status: 400, path: /\?index=<redacted>$/ })
      t.match(line('explain', at), { call: 'acl.explain' })
      hashes.add(line('wrong', at)['token'])
    }
    t.equal(hashes.size, 1, 'a token has one hash on all servers')
  },
)

void t.test('the log is cut by size and opened anew, and no line is lost', async (t) => {
  const audit = { enabled: true, rotate_bytes: '64KiB', rotate_max_files: 3 }
  const cluster = await startCluster(t, { servers: 1, config: { audit } })
  const folder = auditFolder(cluster.server(0))
  const current = join(folder, 'audit.log')
  const load = async (name: string, count: number): Promise<void> => {
    for (let from = 0; from < count; from += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          cluster.http(0).request('GET', `/v1/kv/${'k'.repeat(200)}`, {
            headers: { 'x-request-id': `${name}-${from + at}` },
          }),
        ),
      )
    }
  }
  await load('rotated', 1_500)
  await eventuallyTrue('there are as many files as are kept', async () => {
    const names = await readdir(folder)
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    // The last line may be the one after which the log was cut.
    return names.length === 4 && texts.some((text) => text.includes('rotated-1499"'))
  })
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), 'utf8')
    t.ok(text.endsWith('}\n'), `${name} ends with a whole line`)
    t.ok(text.length < 2 * 65_536)
    t.equal((await stat(join(folder, name))).mode & 0o777, 0o600)
  }
  const numbers = (await auditLines(cluster.server(0)))
    .map(({ id }) => /^rotated-(\d+)$/.exec(String(id))?.[1])
    .flatMap((text) => (text === undefined ? [] : [Number(text)]))
  const first = Math.min(...numbers)
  t.equal(new Set(numbers).size, numbers.length)
  t.ok(numbers.length > 1_500 - first - 50, 'of what is kept nothing is missing')

  await rename(current, join(folder, 'moved'))
  const going = load('moved', 200)
  await reconfigure(cluster, 0, {})
  await going
  await load('after', 50)
  await eventuallyTrue('the new file has the rest', async () =>
    (await readFile(current, 'utf8')).includes('after-49"'),
  )
  const all = await auditText(cluster.server(0))
  for (let at = 0; at < 200; at += 1) {
    t.equal(all.split(`"moved-${at}"`).length, 2, `moved-${at} is there once`)
  }

  await reconfigure(cluster, 0, { audit: { enabled: false } })
  const length = (await readFile(current, 'utf8')).length
  await load('off', 50)
  t.equal((await readFile(current, 'utf8')).length, length, 'switched off')
  await reconfigure(cluster, 0, { audit: { enabled: 'yes' } }, 'what was read stays as it was')
  await reconfigure(cluster, 0, { audit })
  await load('on', 50)
  await cluster.server(0).terminate()
  const text = await readFile(current, 'utf8')
  for (let at = 0; at < 50; at += 1) t.ok(text.includes(`"on-${at}"`), 'a stop writes what waits')
})

/** A client of its own address. */
function clientFrom(t: Test, cluster: Cluster, at: number, address: string): HttpClient {
  const client = new HttpClient(cluster.server(at).spec.ports.http, 64, address)
  t.teardown(() => client.close())
  return client
}

void t.test('one client is held to its rate while others go on', async (t) => {
  const cluster = await startCluster(t)
  const leader = await cluster.waitForLeader()
  const follower = await cluster.follower()
  const greedy = clientFrom(t, cluster, leader, '127.0.0.2')
  const modest = clientFrom(t, cluster, leader, '127.0.0.3')
  const elsewhere = clientFrom(t, cluster, follower, '127.0.0.2')
  const storm = async (count: number): Promise<readonly Reply[]> =>
    Promise.all(Array.from({ length: count }, () => greedy.request('GET', '/v1/kv/x?stale')))

  t.ok(
    (await storm(100)).every(({ status }) => status === 404),
    'off by default',
  )
  const limits = { http_rate_per_client: 1, http_burst_per_client: 20 }
  await reconfigure(cluster, leader, { limits })
  const replies = await storm(100)
  const refused = replies.filter(({ status }) => status === 429)
  t.ok(refused.length >= 60, `${refused.length} refused`)
  t.ok(replies.length - refused.length >= 20, 'the burst was served')
  const self = await modest.json('GET', '/v1/agent/self')
  t.match(self, { config: { Limits: { HTTPRatePerClient: 1, HTTPBurstPerClient: 20 } } })
  const [one] = refused
  t.match(one?.headers['retry-after'], /^\d+$/)
  t.match(
    one?.body.toString(),
    /^too many requests of 127\.0\.0\.2: limits\.http_rate_per_client is 1 a second, [^\n]+$/,
  )
  for (let at = 0; at < 10; at += 1) {
    t.equal((await modest.request('GET', '/v1/kv/x?stale')).status, 404, 'another client')
  }
  for (let at = 0; at < 40; at += 1) {
    const reply = await elsewhere.request('PUT', `/v1/kv/elsewhere/${at}`, { body: 'v' })
    t.equal(reply.status, 200, 'what other servers forward is not limited')
  }
  const { ops } = cluster.server(leader).spec.ports
  const operator = new HttpClient(ops, 4, '127.0.0.2')
  t.teardown(() => operator.close())
  for (let at = 0; at < 40; at += 1) {
    t.equal((await operator.request('GET', '/health')).status, 200, 'health is not limited')
  }
  const metrics = (await operator.request('GET', '/metrics')).body.toString()
  const counted = Number(/^muster_http_limited_total\{limit="rate"\} (\d+)$/m.exec(metrics)?.[1])
  t.ok(counted >= refused.length, `${counted} counted`)
  for (const limit of ['blocking_queries', 'event_streams', 'log_streams', 'streams', 'answers']) {
    t.match(metrics, new RegExp(`^muster_http_limited_total\\{limit="${limit}"\\} 0$`, 'm'))
  }
  t.match(metrics, /^muster_http_answer_bytes \d+$/m)

  await reconfigure(cluster, leader, { limits: {} })
  t.ok(
    (await storm(100)).every(({ status }) => status === 404),
    'off again',
  )
})
