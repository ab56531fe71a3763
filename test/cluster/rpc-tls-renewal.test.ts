/**
 * New certificates, and a new authority, while writes go on: at the servers, RPC and API, and through a client agent that
 * verifies them.
 */
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { allIsThere, goesOn, knock, tlsBlock } from '../support/rpc-tls.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { Variables } from '../support/variables.ts'
import { SteadyWriter } from '../support/writer.ts'

async function logOf({ logFile }: ServerProcess): Promise<string> {
  return readFile(logFile, 'utf8')
}

/** Sends SIGHUP, and waits until the log says so once more. */
async function reload(running: ServerProcess, words: string): Promise<void> {
  const told = async () => (await logOf(running)).split(words).length
  const before = await told()
  process.kill(running.pid ?? 0, 'SIGHUP')
  await eventuallyTrue(`${running.spec.name}: ${words}`, async () => (await told()) > before)
}

/** Has the agent make a new connection to a server, which each WebSocket needs: '' or why it did not come about. */
async function connects({ process: { spec } }: ClientAgent): Promise<string> {
  const websocket = new WebSocket(`ws://127.0.0.1:${spec.ports.http}/v1/event/stream`, {
    headers: {},
    perMessageDeflate: false,
    maxPayload: 1_048_576,
    handshakeTimeout: 10_000,
  })
  try {
    await once(websocket, 'open')
    return ''
  } catch (error) {
    return String(error)
  } finally {
    websocket.terminate()
  }
}

void t.test('certificates and authority are replaced while writes go on', async (t) => {
  const folder = t.testdir()
  const first = await Authority.create('The first CA')
  const second = await Authority.create('The second CA')
  const old = await first.issue()
  const kept = await writeTlsFiles(folder, 'kept', first.cert + second.cert, old)
  const files = await writeTlsFiles(folder, 'server', first.cert, old)
  const cluster = await startCluster(t, {
    gossip: true,
    ca: first.cert + second.cert,
    config: { tls: tlsBlock(files, { http: true }) },
  })
  const agentCa = join(folder, 'agent-ca.pem')
  await writeFile(agentCa, first.cert)
  const agent = await startClientAgent(t, cluster, { config: { tls: { ca_file: agentCa } } })
  const writer = new SteadyWriter([cluster.variables(0)], 'renewed')
  const through = new SteadyWriter([new Variables(agent.http)], 'through')
  const reloadServers = async (words: string): Promise<void> => {
    for (const at of cluster.all) await reload(cluster.server(at), words)
    await goesOn(writer, words)
    await goesOn(through, words)
  }
  const trust = async (ca: string, words = ' read again'): Promise<void> => {
    await writeFile(agentCa, ca)
    await reload(agent.process, words)
  }
  await goesOn(writer, 'before')
  await goesOn(through, 'before')

  await writeFile(files.caFile, first.cert + second.cert)
  await reloadServers(' read again')
  await trust(first.cert + second.cert)
  t.equal(await connects(agent), '')
  const renewed = await second.issue()
  await writeTlsFiles(folder, 'server', first.cert + second.cert, renewed)
  await reloadServers(' read again')
  for (const at of cluster.all) {
    t.equal(await knock(cluster, at, kept), '', 'the old one is still believed')
    t.equal(await knock(cluster, at, files), '')
  }
  t.equal(await connects(agent), '', 'the client agent believes both')
  await writeFile(files.caFile, second.cert)
  await reloadServers(' read again')
  await trust(second.cert)
  t.equal(await connects(agent), '', 'and the new one alone')
  await goesOn(through, 'with the new authority alone')
  for (const at of cluster.all) {
    t.match(await knock(cluster, at, kept), 'ended the connection', 'the old one is not')
    t.equal(await knock(cluster, at, files), '')
  }

  const broken = join(folder, 'server-key.pem')
  await writeFile(broken, 'broken')
  await reloadServers(`tls.key_file ${broken} holds no private key`)
  await writeTlsFiles(folder, 'kept', second.cert, renewed)
  t.equal(await knock(cluster, 0, kept), '', 'what was read before stays')
  await writeFile(broken, renewed.key)

  t.equal(writer.failed, 0, 'no write failed')
  await through.stop()
  t.equal(through.failed, 0, 'nor one through the client agent')
  await allIsThere(t, cluster, through)
  await trust('broken', `tls.ca_file ${agentCa} holds no certificate`)
  t.equal(await connects(agent), '', 'a file that cannot be read changes nothing')
  await trust(first.cert)
  t.match(await connects(agent), /50\d/, 'by the old authority alone it believes no server')
  t.match(await logOf(agent.process), /refused a member that gossips as a server/)
  await trust(second.cert)
  await eventually('the client agent is back', async () =>
    (await connects(agent)) === '' ? true : undefined,
  )

  const leader = await cluster.waitForLeader()
  const follower = cluster.all.find((at) => at !== leader && at !== 0) ?? 1
  await cluster.restart(follower)
  await eventually('a restarted server is among them', async () => {
    const outcome = await cluster.variables(follower).put('renewed/restarted', 'yes')
    return outcome.type === 'ok' ? true : undefined
  })
  await writer.stop()
  t.comment(`longest gap between two writes: ${writer.takeLongestGapMs().toFixed(0)} ms`)
  await allIsThere(t, cluster, writer)
})
