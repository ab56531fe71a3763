/**
 * `npm run tokens`: three servers with very many live tokens that have leases.
 *
 *   npm run tokens -- [--count 1000000] [--children 100000] [--seconds 60]
 *
 * Tells what memory a token takes, how long snapshots and starts take, how fast tokens are looked up, what other requests take while
 * the leader is killed, when a lease ends after that, and what they take while the parent of `--children` of the tokens is revoked.
 * The tokens come by the restore of an archive, which this script makes with the program's own state machine.
 */
import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { Cluster } from '../test/support/cluster.ts'
import { eventually, eventuallyTrue } from '../test/support/eventually.ts'
import { metricsOf, usedBy, type Used } from '../test/support/server-numbers.ts'
import { httpRequest } from './bench/system.ts'
import { runLoad } from './bench/plan.ts'
import { leasedTokens } from './endings/fill.ts'
import type { Probed } from './endings/probe.ts'
import { report, tell } from './endings/report.ts'

const stepMs = 3_600_000
/** The machine comes to rest. */
const restMs = 8_000
const beforeMs = 10_000
/** Of the lease that ends under the new leader. */
const shortLease = '5s'

const secondsSince = (fromMs: number) => `${((performance.now() - fromMs) / 1_000).toFixed(1)} s`
const tokenHeader = (token: string) => ({ 'X-Service-Token': token })

async function usedByAll(cluster: Cluster): Promise<readonly Used[]> {
  return Promise.all(cluster.all.map((at) => usedBy(cluster.server(at).pid ?? 0)))
}

/** What is not the process's own are pages of files: of the program, and of the tables of the store. */
async function tellMemory(
  cluster: Cluster,
  when: string,
  before: readonly Used[],
  count: number,
): Promise<void> {
  const now = await usedByAll(cluster)
  const shown = now.map(
    ({ residentMiB, ownMiB }) => `${residentMiB.toFixed(0)} (${ownMiB.toFixed(0)})`,
  )
  tell(`resident MiB (its own) ${when}`, shown.join(', '))
  const more = now.map(({ ownMiB }, at) => ((ownMiB - (before[at]?.ownMiB ?? 0)) * 2 ** 20) / count)
  tell('  its own bytes a token', more.map((bytes) => bytes.toFixed(0)).join(', '))
}

/** Requests of the probes, from now to the answer of `work` and so much longer. */
async function probed(
  cluster: Cluster,
  leader: number,
  token: string,
  work: () => Promise<number>,
): Promise<void> {
  const others = cluster.all.filter((at) => at !== leader)
  const ports = [leader, ...others].map((at) => String(cluster.server(at).spec.ports.http))
  const probe = new URL('./endings/probe.ts', import.meta.url).pathname
  const options = { maxBuffer: 2 ** 28 }
  const running = promisify(execFile)(process.execPath, [probe, token, ...ports], options)
  await delay(beforeMs)
  const fromMs = Date.now()
  const lastMs = await work()
  await delay(lastMs)
  running.child.stdin?.end()
  const seen = JSON.parse((await running).stdout) as Probed
  console.log('before: median, p99, worst')
  report(seen, fromMs - beforeMs, fromMs)
  console.log('from then on')
  report(seen, fromMs, Infinity)
}

/** Until the server answers a look-up of this token from a state that is as new as the leader's. */
async function answers(cluster: Cluster, at: number, token: string): Promise<void> {
  await eventuallyTrue(
    'the server answers',
    async () => {
      const headers = tokenHeader(token)
      const path = '/v1/auth/token/lookup-self'
      return (await cluster.http(at).request('GET', path, { headers })).status === 200
    },
    { timeoutMs: stepMs, everyMs: 20 },
  )
}

async function saveSnapshot(cluster: Cluster, at: number, root: string): Promise<void> {
  const fromMs = performance.now()
  const { ports } = cluster.server(at).spec
  const reply = await fetch(`http://127.0.0.1:${ports.http}/v1/operator/snapshot`, {
    headers: tokenHeader(root),
  })
  let bytes = 0
  for await (const piece of reply.body ?? []) bytes += piece.length
  tell('a snapshot archive', `${(bytes / 2 ** 20).toFixed(0)} MiB in ${secondsSince(fromMs)}`)
}

async function lookUps(
  cluster: Cluster,
  at: number,
  what: string,
  secrets: readonly string[],
): Promise<void> {
  const ask = (path: string) => (secret: string) =>
    httpRequest('GET', path, null).replace('\r\n\r\n', `\r\nX-Service-Token: ${secret}\r\n\r\n`)
  const port = cluster.server(at).spec.ports.http
  for (const path of ['/v1/auth/token/lookup-self', '/v1/kv/probe/0']) {
    const requests = secrets.map(ask(path))
    const plan = { port, concurrency: 64, warmupMs: 1_000, durationMs: 5_000, requests }
    const { perSecond, p50Ms, p99Ms } = await runLoad(plan)
    const figures = `${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(1)} ms`
    tell(`GET ${path}, ${what}`, figures)
  }
}

/** A lease that the new leader has to end, and the requests meanwhile. */
async function killLeader(cluster: Cluster, leader: number, root: string): Promise<number> {
  await probed(cluster, leader, root, async () => {
    const body = JSON.stringify({ policies: ['probe'], ttl: shortLease, no_parent: true })
    const made = (await cluster.http(leader).json('POST', '/v1/auth/token/create', {
      headers: tokenHeader(root),
      body,
    })) as { readonly auth: { readonly client_token: string } }
    const endMs = Date.now() + 5_000
    const { client_token } = made.auth
    const killedMs = performance.now()
    await cluster.kill(leader)
    const next = await cluster.waitForLeader({ except: leader })
    tell('another leader is known after', secondsSince(killedMs))
    const asks = cluster.all
      .filter((at) => at !== leader)
      .map(async (at) => {
        await eventuallyTrue(
          'the token is refused',
          async () => {
            const reply = await cluster
              .http(at)
              .request('GET', '/v1/kv/probe/0', { headers: tokenHeader(client_token) })
            return reply.status === 403
          },
          { everyMs: 20 },
        )
        return Date.now() - endMs
      })
    const late = await Promise.all(asks)
    tell('a lease that ended is refused after its end', late.map((ms) => `${ms} ms`).join(', '))
    await cluster.logged(next, /tokens expired and were removed/)
    tell('  and its row is removed after', `${Date.now() - endMs} ms`)
    return 1_000
  })
  return cluster.waitForLeader({ except: leader })
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '1000000' },
      children: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '60' },
    },
  })
  const count = Number(values.count)
  let fromMs = performance.now()
  const tokens = await leasedTokens(count, Number(values.children))
  const archive = Buffer.concat(tokens.archive)
  tell('the archive was made', `${archive.length} bytes in ${secondsSince(fromMs)}`)
  const cluster = await Cluster.start({ config: { acl: { enabled: true } }, writeFirst: false })
  try {
    let leader = await cluster.waitForLeader()
    const { SecretID } = (await cluster.http(leader).json('PUT', '/v1/acl/bootstrap')) as {
      readonly SecretID: string
    }
    await delay(restMs)
    const empty = await usedByAll(cluster)
    fromMs = performance.now()
    await cluster.http(leader).json('PUT', '/v1/operator/snapshot', {
      body: archive,
      headers: tokenHeader(SecretID),
      timeoutMs: stepMs,
    })
    tell('the archive was restored', secondsSince(fromMs))
    const { root, parent, children, others } = tokens
    const child = children[0] ?? ''
    for (const at of cluster.all) await answers(cluster, at, child)
    await cluster.http(leader).json('PUT', '/v1/kv/probe/0', {
      headers: tokenHeader(root),
      body: 'x',
    })
    await delay(restMs)
    await tellMemory(cluster, 'after the restore', empty, count)
    await saveSnapshot(cluster, leader, root)
    for (const at of cluster.all.toSorted((left) => (left === leader ? 1 : -1))) {
      await cluster.kill(at)
      fromMs = performance.now()
      await cluster.server(at).start()
      await answers(cluster, at, child)
      tell('a killed server answers again after', secondsSince(fromMs))
    }
    leader = await cluster.waitForLeader()
    await delay(restMs)
    await tellMemory(cluster, 'after a start', empty, count)
    await lookUps(cluster, leader, 'one token', [child])
    await lookUps(cluster, leader, `${others.length} tokens in turn`, others)
    await tellMemory(cluster, 'after look-ups', empty, count)
    const killed = leader
    leader = await killLeader(cluster, leader, root)
    await cluster.server(killed).start()
    await answers(cluster, killed, child)
    await delay(restMs)
    const changes = async () => {
      const all = cluster.all.map((at) => metricsOf(cluster.server(at).spec.ports.ops))
      return (await Promise.all(all)).map((of) => of('muster_raft_leader_changes_total'))
    }
    const before = await changes()
    await probed(cluster, leader, root, async () => {
      const revokeMs = performance.now()
      const reply = await cluster.http(leader).request('POST', '/v1/auth/token/revoke-accessor', {
        headers: tokenHeader(root),
        body: JSON.stringify({ accessor: parent }),
        timeoutMs: 60_000,
      })
      tell(
        `revoking the parent of ${values.children}: ${reply.status} after`,
        secondsSince(revokeMs),
      )
      for (const at of [leader, ...cluster.all.filter((other) => other !== leader)]) {
        const headers = tokenHeader(children.at(-1) ?? '')
        const status = await eventually(
          'an answer',
          async () => (await cluster.http(at).request('GET', '/v1/kv/probe/0', { headers })).status,
        )
        tell(
          `  a child at ${at === leader ? 'the leader' : 'a follower'}`,
          `${status} ${secondsSince(revokeMs)} after`,
        )
      }
      return Number(values.seconds) * 1_000
    })
    const after = await changes()
    tell('changes of leaders meanwhile', after.map((all, at) => all - (before[at] ?? 0)).join(', '))
    await tellMemory(cluster, 'at the end', empty, count)
  } finally {
    for (const at of cluster.all) await cluster.terminate(at).catch(() => {})
    await cluster.stop()
  }
}

await main()
