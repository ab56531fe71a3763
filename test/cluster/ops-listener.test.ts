/**
 * What load balancers, supervisors and collectors see of real servers: health while all is well, while a server is told to
 * stop, and while its disk takes no writes; metrics; certificates that change.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask } from '../support/ask.ts'
import { certificatePair } from '../support/certificates.ts'
import { startCluster, guardProcesses, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { freePorts } from '../support/free-ports.ts'
import { HttpClient } from '../support/http-client.ts'
import { fill, makeReadOnly, mountSmallDisk } from '../support/mounts.ts'
import { ServerProcess } from '../support/server-process.ts'
import { SteadyWriter } from '../support/writer.ts'

async function healthOf(port: number, ca?: string): Promise<number> {
  return (await ask(port, 'GET', '/health', ca)).status
}

function health(cluster: Cluster, at: number): Promise<number> {
  return healthOf(cluster.server(at).spec.ports.ops)
}

void t.test(
  'a cluster is healthy, tells its metrics, and one server leaves unnoticed',
  async (t) => {
    const cluster = await startCluster(t, {
      config: { controller: { graceful_shutdown_wait_duration: '6s' } },
    })
    const leader = await cluster.waitForLeader()
    const follower = (leader + 1) % cluster.size

    for (const at of cluster.all) {
      t.equal(await health(cluster, at), 200, `server ${at}, followers included`)
      const { status, body } = await ask(cluster.server(at).spec.ports.ops, 'HEAD', '/health')
      t.same([status, body], [200, ''])
      const { body: text } = await ask(cluster.server(at).spec.ports.ops, 'GET', '/metrics')
      t.match(text, `muster_raft_role{role="leader"} ${at === leader ? 1 : 0}\n`)
      t.match(text, 'muster_raft_voters 3\n')
      t.match(text, /^muster_raft_append_duration_seconds_count [1-9]/m)
      t.match(
        text,
        /^muster_http_requests_total\{method="PUT",route="\/v1\/var\/\*",code="2xx"\} [1-9]/m,
      )
      t.notMatch(text, 'ready/', 'no path that was asked for')
      const same = await cluster.http(at).request('GET', '/v1/metrics?format=prometheus')
      t.match(same.headers['content-type'], 'text/plain; version=0.0.4')
      t.match(same.body.toString(), 'muster_raft_voters 3\n')
      const document = await cluster.http(at).json('GET', '/v1/metrics')
      t.match(document, { Gauges: [], Counters: [], Samples: [], Timestamp: / \+0000 UTC$/ })
    }

    const writer = new SteadyWriter([cluster.variables(follower)], 'leaving')
    const ended = cluster.terminate(leader)
    await eventuallyTrue(
      'it says that it leaves',
      async () => (await health(cluster, leader)) === 503,
    )
    t.equal(await cluster.leaderAsSeenBy(leader), leader, 'it leads for as long as it waits')
    const written = writer.accepted.length
    await eventuallyTrue('writes go on', () => writer.accepted.length > written + 20)
    t.equal((await cluster.variables(leader).read('ready/0')).type, 'ok', 'it still serves')
    t.equal(await health(cluster, leader), 503)
    t.ok(cluster.server(leader).running)
    await ended
    await cluster.waitForLeader({ except: leader })
    const handedOver = writer.accepted.length
    await eventuallyTrue('writes go on', () => writer.accepted.length > handedOver + 20)
    await writer.stop()
    t.equal(writer.failed, 0, 'no write failed')
    t.match(await cluster.server(leader).logTail(3), 'code 0')
    t.equal(await health(cluster, follower), 200)
  },
)

type Alone = {
  readonly server: ServerProcess
  readonly folder: string
  readonly ports: readonly number[]
}

/** One server whose process is the point; `ports` are for its listeners. */
async function alone(
  t: Test,
  configOf: (ports: readonly number[], folder: string) => Readonly<Record<string, unknown>>,
): Promise<Alone> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-ops-'))
  const pidFile = join(folder, 'pids')
  await writeFile(pidFile, '')
  const guard = guardProcesses(folder, pidFile)
  const [http = 0, rpc = 0, gossip = 0, ops = 0, ...ports] = await freePorts(7)
  const server = new ServerProcess({
    name: 's1',
    folder,
    ports: { http, rpc, gossip, ops },
    config: { server: { enabled: true }, ...configOf(ports, folder) },
    pidFile,
  })
  t.teardown(async () => {
    if (!t.passing()) t.comment(await server.logTail(60))
    await server.kill()
    guard.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  return { server, folder, ports }
}

function healthy(port: number, wanted: boolean, ca?: string): Promise<void> {
  return eventuallyTrue(`health is ${wanted}`, async () => {
    return (await healthOf(port, ca)) === (wanted ? 200 : 503)
  })
}

void t.test(
  'a disk that takes no writes is told within a moment, and so is its return',
  async (t) => {
    const { server } = await alone(t, () => ({}))
    await mkdir(server.dataFolder, { mode: 0o700 })
    const small = await mountSmallDisk(t, server.dataFolder, 96)
    await server.start()
    const { ops, http } = server.spec.ports
    const client = new HttpClient(http)
    t.teardown(() => client.close())
    await healthy(ops, true)
    await eventuallyTrue('it takes writes', async () => {
      const { status } = await client.request('PUT', '/v1/var/a', { body: '{"Items":{"a":"b"}}' })
      return status === 200
    })

    if (small) {
      const filler = join(server.dataFolder, 'filler')
      const fullMs = performance.now()
      await eventuallyTrue('the full disk is told', async () => {
        // A segment that did not fit any more is removed again, and leaves room.
        await fill(filler)
        return (await healthOf(ops)) === 503
      })
      t.comment(`a full disk was told after ${(performance.now() - fullMs).toFixed(0)} ms`)
      t.equal((await ask(http, 'GET', '/v1/namespaces?stale')).status, 200, 'reads go on')
      t.match(await server.logTail(9), 'the disk takes no writes')
      await rm(filler)
      await healthy(ops, true)
    } else {
      t.comment('NOT TESTED: a full disk; this machine lets the test mount none')
    }

    const restore = await makeReadOnly(t, join(server.dataFolder, 'raft'))
    if (restore !== null) {
      const readOnlyMs = performance.now()
      await healthy(ops, false)
      t.comment(`a read-only disk was told after ${(performance.now() - readOnlyMs).toFixed(0)} ms`)
      await restore()
      await healthy(ops, true)
    } else {
      t.comment('NOT TESTED: a read-only disk; this machine lets the test mount none')
    }
    t.equal(server.crash, null)
    t.ok(server.running)
  },
)

void t.test(
  'listeners of the configuration: HTTPS, new certificates, a wait that is skipped',
  async (t) => {
    const { server, folder, ports } = await alone(t, ([api, plain, secure], folder) => {
      const { certFile, keyFile } = certificatePair(folder)
      const tls = { tls_cert_file: certFile, tls_key_file: keyFile }
      return {
        listener: [
          { purpose: 'api', address: `127.0.0.1:${api}`, ...tls },
          { purpose: 'ops', address: `127.0.0.1:${plain}`, tls_disable: true },
          { purpose: 'ops', address: `127.0.0.1:${secure}`, ...tls },
        ],
        controller: { graceful_shutdown_wait_duration: '10m' },
      }
    })
    const [api = 0, plain = 0, secure = 0] = ports
    const pair = certificatePair(folder)

    await server.start()
    await eventuallyTrue('it does not start without its certificate', () => !server.running)
    t.match(server.crash, 'code 1')
    const refusal = `api listener 127.0.0.1:${api}: tls_cert_file ${pair.certFile} cannot be read: ENOENT`
    t.match(await server.logTail(9), refusal)

    const first = await pair.renew()
    await server.start()
    await healthy(plain, true)
    t.equal(await healthOf(secure, first), 200)
    t.equal((await ask(api, 'GET', '/v1/namespaces?stale', first)).status, 200)
    await t.rejects(
      ask(server.spec.ports.http, 'GET', '/'),
      /ECONNREFUSED/,
      'ports.http is not used',
    )

    const second = await pair.renew()
    const pid = server.pid ?? 0
    process.kill(pid, 'SIGHUP')
    await eventually('the new certificate is shown', async () => {
      const { status } = await ask(api, 'GET', '/v1/namespaces?stale', second)
      return status === 200 ? true : undefined
    })
    // Each listener takes its own, one after the other.
    await healthy(secure, true, second)
    await writeFile(pair.keyFile, 'broken')
    process.kill(pid, 'SIGHUP')
    await eventuallyTrue('the broken key is told', async () =>
      (await server.logTail(9)).includes(`tls_key_file ${pair.keyFile} holds no private key`),
    )
    t.equal(await healthOf(secure, second), 200, 'the certificate before it stays')

    process.kill(pid, 'SIGTERM')
    await healthy(plain, false)
    await healthy(secure, false, second)
    t.equal((await ask(api, 'GET', '/v1/status/leader', second)).status, 200, 'the API goes on')
    await server.terminate()
    t.match(await server.logTail(20), /the rest of the wait is skipped[^]*code 0/)
  },
)
