/** Servers that speak TLS only with one another, and strangers at their door. */
import t, { type Test } from 'tap'
import { ask } from '../support/ask.ts'
import { Authority, writeTlsFiles, type Holder, type TlsFiles } from '../support/certificates.ts'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { freePorts } from '../support/free-ports.ts'
import { allIsThere, goesOn, knock, tlsBlock, wholeLog } from '../support/rpc-tls.ts'
import { ServerProcess } from '../support/server-process.ts'
import { SteadyWriter } from '../support/writer.ts'

async function refusedBy(cluster: Cluster, at: number, reason: string): Promise<number> {
  const { body } = await ask(cluster.server(at).spec.ports.ops, 'GET', '/metrics')
  const line = new RegExp(`^muster_rpc_refused_total\\{reason="${reason}"\\} (\\d+)$`, 'm')
  return Number(line.exec(body)?.[1] ?? Number.NaN)
}

void t.test(
  'a cluster that speaks TLS only elects, writes, fails over, and keeps others out',
  async (t) => {
    const folder = t.testdir()
    const authority = await Authority.create()
    const certified = async (name: string, holder: Holder = {}, signer = authority) =>
      writeTlsFiles(folder, name, authority.cert, await signer.issue(holder))
    const files = await certified('server')
    const cluster = await startCluster(t, {
      config: { tls: tlsBlock(files) },
      raft: steadyLeadership,
    })
    const leader = await cluster.waitForLeader()
    const self = await cluster.http(leader).json('GET', '/v1/agent/self')
    t.match(self, {
      config: {
        TLSConfig: {
          EnableHTTP: false,
          EnableRPC: true,
          VerifyServerHostname: true,
          RPCUpgradeMode: false,
          CAFile: files.caFile,
        },
      },
    })

    t.equal(await knock(cluster, leader, files), '', 'one of their own would be heard')
    const client = await certified('client', { role: 'client' })
    const wanted = 'a server of region global shows server.global.muster'
    t.match(await knock(cluster, leader, client), wanted)
    t.match(await knock(cluster, leader, await certified('eu', { region: 'eu' })), wanted)
    const other = await Authority.create('Another CA')
    const stranger = await certified('stranger', {}, other)
    t.match(await knock(cluster, leader, stranger), 'ended the connection after the TLS handshake')
    t.match(await knock(cluster, leader, null), 'hung up without a word')
    t.match(await knock(cluster, leader, null), 'hung up without a word')
    // On a busy machine gRPC may dial again before a knock is over.
    t.ok((await refusedBy(cluster, leader, 'role')) >= 2, 'both were counted')
    t.ok((await refusedBy(cluster, leader, 'certificate')) >= 1, 'the stranger was counted')
    t.ok((await refusedBy(cluster, leader, 'plain')) >= 2, 'both plain ones were counted')
    const log = await wholeLog(cluster, leader)
    t.match(log, /a certificate for DNS:client\.global\.muster.* was shown/)
    t.match(log, /a certificate for DNS:server\.eu\.muster.* was shown/)
    t.match(log, /from an authority that this agent does not trust/)
    t.equal(log.match(/speaks plain text, and this server wants TLS/g)?.length, 1, 'told once')

    const writer = new SteadyWriter(
      cluster.all.map((at) => cluster.variables(at)),
      'tls',
    )
    await goesOn(writer, 'before')
    const outsider = await startOutsider(t, cluster, {
      ...stranger,
      caFile: (
        await writeTlsFiles(folder, 'both', other.cert + authority.cert, await other.issue())
      ).caFile,
    })
    await eventuallyTrue(
      'the stranger is refused',
      async () => (await refusedBy(cluster, leader, 'certificate')) > 1,
    )
    t.ok(outsider.running, 'it waits, and does not fall over')
    await outsider.kill()

    await cluster.kill(leader)
    await cluster.waitForLeader({ except: leader })
    await goesOn(writer, 'without the old leader')
    await cluster.server(leader).start()
    await eventuallyTrue('it is back', async () => (await cluster.leaderAsSeenBy(leader)) !== null)
    await goesOn(writer, 'with all three')
    await writer.stop()
    const raft = await cluster.http(leader).json('GET', '/v1/operator/raft/configuration')
    t.match(raft, { Servers: { length: 3 } }, 'nobody else came in')
    await allIsThere(t, cluster, writer)
    for (const at of cluster.all) t.equal(cluster.server(at).crash, null)
  },
)

/** A fourth server that wants to join all others, with these files. */
async function startOutsider(t: Test, cluster: Cluster, files: TlsFiles): Promise<ServerProcess> {
  const [http = 0, rpc = 0, gossip = 0, ops = 0] = await freePorts(4)
  const { spec } = cluster.server(0)
  const peers = cluster.servers.map(({ spec: { name, ports } }) => `${name}=127.0.0.1:${ports.rpc}`)
  const outsider = new ServerProcess({
    ...spec,
    name: 'outsider',
    ports: { http, rpc, gossip, ops },
    config: { tls: tlsBlock(files), server: { enabled: true, bootstrap_expect: 0, peers } },
  })
  t.teardown(() => outsider.kill())
  await outsider.start()
  return outsider
}
