/** Access control over three servers: refused everywhere, granted everywhere, revoked everywhere, on no disk. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

const acl = { enabled: true }

type Client = (
  at: number,
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly body: string }>

function clientOf(cluster: Cluster, token: string | null): Client {
  return async (at, method, path, body) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await cluster.http(at).request(method, path, {
      ...(body !== undefined && { body: text }),
      ...(token !== null && { headers: { 'x-service-token': token } }),
    })
    return { status: reply.status, body: reply.body.toString() }
  }
}

type Token = { readonly AccessorID: string; readonly SecretID: string }

/** Answered 200, tried again while there is no leader. */
async function settled(client: Client, at: number, method: string, path: string, body?: unknown) {
  return eventually(`${method} ${path}`, async () => {
    const answer = await client(at, method, path, body)
    if (answer.status < 500 && answer.status !== 200) throw new Error(answer.body)
    return answer.status === 200 ? answer.body : undefined
  })
}

async function begin(cluster: Cluster): Promise<{ root: Client; secret: string }> {
  const body = await settled(
    clientOf(cluster, null),
    await cluster.follower(),
    'PUT',
    '/v1/acl/bootstrap',
  )
  const secret = (JSON.parse(body) as Token).SecretID
  return { root: clientOf(cluster, secret), secret }
}

void t.test(
  'what is refused is refused by all servers, what is granted by all at once',
  async (t) => {
    const cluster = await startCluster(t, {
      config: { acl },
      raft: steadyLeadership,
      writeFirst: false,
      logLevel: 'trace',
    })
    const nobody = clientOf(cluster, null)
    const follower = await cluster.follower()
    for (const at of cluster.all) {
      t.equal((await nobody(at, 'GET', '/v1/kv/x')).status, 403)
      t.equal((await nobody(at, 'GET', '/v1/agent/health')).status, 200)
    }
    const { root, secret } = await begin(cluster)
    t.match(await nobody(follower, 'PUT', '/v1/acl/bootstrap'), {
      status: 400,
      body: /already done/,
    })

    const rules = 'key_prefix "app/" { policy = "write" }\nagent { policy = "read" }'
    await settled(root, follower, 'PUT', '/v1/acl/policy/app', { Rules: rules })
    const made = await settled(root, follower, 'PUT', '/v1/acl/token', { Policies: ['app'] })
    const token = JSON.parse(made) as Token
    const mine = clientOf(cluster, token.SecretID)
    for (const at of cluster.all) {
      // What a server answers of itself it answers on its own state: it looks again when it does not know a token.
      t.equal((await mine(at, 'GET', '/v1/agent/self')).status, 200, `${at} knows it at once`)
      t.equal((await mine(at, 'PUT', `/v1/kv/app/${at}`, 'v')).status, 200)
      t.equal((await mine(at, 'PUT', `/v1/kv/other/${at}`, 'v')).status, 403)
      t.equal((await mine(at, 'GET', '/v1/acl/tokens')).status, 403)
      t.match(await clientOf(cluster, 'wrong')(at, 'GET', '/v1/kv/app/0'), {
        status: 403,
        body: /^ACL token not found/,
      })
    }

    await settled(root, follower, 'PUT', '/v1/acl/policy/anonymous', {
      Rules: 'key "app/0" { policy = "read" }',
    })
    for (const at of cluster.all) {
      t.equal((await nobody(at, 'GET', '/v1/kv/app/0')).status, 200)
      t.equal((await nobody(at, 'GET', '/v1/kv/app/1')).status, 403)
    }

    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    const next = await cluster.waitForLeader({ except: leader })
    t.equal(JSON.parse(await settled(mine, next, 'GET', '/v1/kv/app/1')).length, 1)
    t.equal((await mine(next, 'PUT', '/v1/kv/other/x', 'v')).status, 403)

    for (const file of await filesUnder(cluster.folder)) {
      const content = await readFile(file).catch(() => Buffer.alloc(0))
      for (const planted of [secret, token.SecretID]) {
        for (const text of [planted, Buffer.from(planted).toString('base64').slice(0, -4)]) {
          if (content.includes(text)) t.fail(`${file} holds a secret`)
        }
      }
    }
  },
)

void t.test('a revoked token is refused by every read that begins afterwards', async (t) => {
  const cluster = await startCluster(t, {
    config: { acl },
    raft: steadyLeadership,
    writeFirst: false,
  })
  const { root } = await begin(cluster)
  const follower = await cluster.follower()
  const rules = 'key_prefix "" { policy = "read" }'
  await settled(root, follower, 'PUT', '/v1/acl/policy/reader', { Rules: rules })
  await settled(root, follower, 'PUT', '/v1/kv/x', 'v')
  for (let round = 0; round < 5; round += 1) {
    const made = await settled(root, follower, 'PUT', '/v1/acl/token', { Policies: ['reader'] })
    const token = JSON.parse(made) as Token
    const mine = clientOf(cluster, token.SecretID)
    let revoked = false
    const patience = AbortSignal.timeout(60_000)
    let granted = 0
    let late = 0
    const readers = cluster.all.flatMap((at) =>
      [1, 2].map(async () => {
        while (!patience.aborted) {
          const begunAfter = revoked
          const { status } = await mine(at, 'GET', '/v1/kv/x')
          if (status === 200) granted += 1
          if (status === 200 && begunAfter) late += 1
          if (begunAfter && status === 403) return
        }
      }),
    )
    await eventually('readers are served', async () => (granted > 20 ? true : undefined))
    await settled(root, follower, 'DELETE', `/v1/acl/token/${token.AccessorID}`)
    revoked = true
    await Promise.all(readers)
    t.equal(late, 0, `${granted} reads were granted, none of them too late`)
    for (const at of cluster.all) {
      const soon = async () => (await mine(at, 'GET', '/v1/kv/x?stale')).status === 403 || undefined
      await eventually(`stale reads at ${at} are refused`, soon)
    }
  }
})

void t.test(
  'a server that is cut off serves no token, or what it has where the operator chose that',
  async (t) => {
    const cluster = await startCluster(t, { config: { acl }, proxies: true, writeFirst: false })
    const { root } = await begin(cluster)
    const cutOff = await cluster.follower()
    const rules = 'key_prefix "" { policy = "write" }'
    await settled(root, cutOff, 'PUT', '/v1/acl/policy/writer', { Rules: rules })
    await settled(root, cutOff, 'PUT', '/v1/kv/x', 'before')
    const made = await settled(root, cutOff, 'PUT', '/v1/acl/token', { Policies: ['writer'] })
    const token = JSON.parse(made) as Token
    const mine = clientOf(cluster, token.SecretID)
    await settled(mine, cutOff, 'GET', '/v1/kv/x?stale')

    const nobody = clientOf(cluster, null)

    await cluster.network.isolate(cutOff)
    const leader = await cluster.waitForLeader({ except: cutOff })
    await settled(root, leader, 'DELETE', `/v1/acl/token/${token.AccessorID}`)
    await settled(root, leader, 'PUT', '/v1/kv/x', 'after')
    t.equal(
      (await mine(leader, 'GET', '/v1/kv/x?stale')).status,
      403,
      'refused where it was revoked',
    )
    const asked = [
      ['GET', '/v1/kv/x'],
      ['GET', '/v1/kv/x?consistent'],
      ['PUT', '/v1/kv/x'],
    ] as const
    await Promise.all(
      asked.map(async ([method, path]) => {
        const body = method === 'PUT' ? 'mine' : undefined
        // A write that was sent on its way waits for the answer that does not come.
        const status = await mine(cutOff, method, path, body).then(
          (answer) => answer.status,
          () => 'no answer',
        )
        t.ok(
          status === 500 || status === 'no answer',
          `${method} ${path} needs a leader: ${status}`,
        )
      }),
    )
    const local = ['/v1/kv/x?stale', '/v1/agent/self'] as const
    for (const path of local) {
      const refused = await mine(cutOff, 'GET', path)
      t.equal(refused.status, 500, `${path}: nobody says that the token stands`)
      t.match(refused.body, /^No cluster leader.*acl\.down_policy/)
    }
    t.equal((await nobody(cutOff, 'GET', '/v1/status/leader?stale')).status, 200, 'without a token')

    await cluster.reconfigure(cutOff, { acl: { ...acl, down_policy: 'extend-cache' } })
    const trusting = async () => (await mine(cutOff, 'GET', '/v1/kv/x?stale&raw')).status === 200
    await eventuallyTrue('by the operator’s choice it reads what the server has', trusting)
    const stale = await mine(cutOff, 'GET', '/v1/kv/x?stale&raw')
    t.same(stale, { status: 200, body: 'before' }, 'which is as old as the server’s state')

    await cluster.network.heal()
    await eventually('it is refused there as well', async () => {
      const { status } = await mine(cutOff, 'GET', '/v1/kv/x?stale')
      return status === 403 ? true : undefined
    })
    t.equal(
      await settled(root, cutOff, 'GET', '/v1/kv/x?raw'),
      'after',
      'nothing was written with it',
    )
  },
)

void t.test('the token of the configuration is the first one', async (t) => {
  const secret = 'a-secret-of-the-operator-0123456789abcdef'
  const cluster = await startCluster(t, {
    servers: 1,
    config: { acl: { ...acl, bootstrap_token: secret } },
    writeFirst: false,
  })
  const root = clientOf(cluster, secret)
  await cluster.waitForLeader()
  await eventually('it is known', async () => {
    const { status } = await root(0, 'GET', '/v1/acl/tokens')
    return status === 200 ? true : undefined
  })
  const nobody = clientOf(cluster, null)
  t.match(await nobody(0, 'PUT', '/v1/acl/bootstrap'), { status: 400, body: /already done/ })
  const self = await root(0, 'GET', '/v1/agent/self')
  t.equal(self.status, 200)
  t.notMatch(self.body, secret, 'and no page shows it')
})

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}
