/** Servers of two versions of the program: they run at the older one's commands until the last is upgraded. */
import t from 'tap'
import { commandVersion as own } from '../../src/fsm/codec.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { allHealthy, lead, setAutopilot, voters, votersBecome } from '../support/members.ts'
import { newerCommand, newerCommandVersion, newerProgram } from '../support/newer-program.ts'
import { ownProgram } from '../support/server-process.ts'
import { SteadyWriter } from '../support/writer.ts'

/** Asks for what the newer command does. */
async function create(cluster: Cluster, at: number) {
  return cluster.http(at).request('PUT', '/v1/session/create', { body: '{}' })
}

async function versionAt(cluster: Cluster, at: number): Promise<number> {
  const { stats } = (await cluster.http(at).json('GET', '/v1/agent/self')) as {
    readonly stats: { readonly muster: { readonly command_version: string } }
  }
  return Number(stats.muster.command_version)
}

async function runAt(cluster: Cluster, version: number): Promise<void> {
  await eventuallyTrue(`all run at version ${version}`, async () => {
    const versions = await Promise.all(cluster.all.map((at) => versionAt(cluster, at)))
    return versions.every((one) => one === version)
  })
}

async function upgrade(cluster: Cluster, at: number, program: string): Promise<void> {
  await cluster.startProgram(at, program)
  await eventuallyTrue('it follows', async () => (await cluster.leaderAsSeenBy(at)) !== null)
  await allHealthy(cluster, at)
}

void t.test('a cluster is upgraded server by server', async (t) => {
  const newer = await newerProgram(t.testdir())
  const cluster = await startCluster(t, { gossip: true })
  await setAutopilot(cluster)
  const order = cluster.all.map((at) => cluster.variables(at))
  const writer = new SteadyWriter(order, 'upgrade')
  t.teardown(() => writer.stop())

  await runAt(cluster, own)
  for (const at of [0, 1]) await upgrade(cluster, at, newer)
  await lead(cluster, 2)
  t.equal((await create(cluster, 0)).status, 200, 'an older leader does as it always did')
  await lead(cluster, 0)
  const held = await create(cluster, 1)
  t.equal(held.status, 501, 'a newer leader holds back what the older server cannot read')
  t.match(
    held.body,
    new RegExp(
      `${newerCommand} needs every server at command version ${newerCommandVersion}; .* at ${own}`,
    ),
  )
  for (const at of cluster.all) t.equal(await versionAt(cluster, at), own, `server ${at}`)

  await upgrade(cluster, 2, newer)
  await runAt(cluster, newerCommandVersion)
  for (const at of cluster.all) t.equal((await create(cluster, at)).status, 200)
  await writer.stop()
  const missing: string[] = []
  for (const { path, value } of writer.accepted) {
    const outcome = await cluster.variables(0).read(path, 'stale')
    if (outcome.type !== 'ok' || outcome.seen.value !== value) missing.push(path)
  }
  t.same(missing, [], 'no acknowledged write is lost')
  t.comment(`${writer.accepted.length} writes, ${writer.failed} failed`)

  await t.test('there is no way back without the others noticing', async (t) => {
    await cluster.startProgram(2, ownProgram)
    await cluster.logged(
      2,
      new RegExp(
        `runs at command version ${newerCommandVersion}; .* up to ${own}: run a newer one`,
      ),
    )
    await eventuallyTrue('it does not start', () => !cluster.server(2).running)
    await cluster.startProgram(2, newer)
    await allHealthy(cluster, 2)
    t.equal(await voters(cluster, 0), 's1 s2 s3')
  })

  await t.test('a server of the older program is not taken in', async (t) => {
    const fourth = await cluster.add()
    await votersBecome(cluster, 0, 's1 s2 s3 s4')
    await cluster.wipe(fourth)
    await cluster.startProgram(fourth, ownProgram)
    await cluster.logged(
      fourth,
      new RegExp(
        `s4 knows commands up to version ${own}, this cluster runs at ${newerCommandVersion}`,
      ),
    )
    t.equal(await voters(cluster, 0), 's1 s2 s3 s4', 'the one it was is not taken away for it')
    await cluster.startProgram(fourth, newer)
    await votersBecome(cluster, 0, 's1 s2 s3 s4')
    await allHealthy(cluster, fourth)
  })
})
