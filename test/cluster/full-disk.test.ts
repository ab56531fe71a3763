/**
 * One server of a real cluster has a disk that is full, or read-only, for a while: as a follower and as the leader. The others go on,
 * it stays up and says so, nothing that was acknowledged is lost, and it comes back by itself.
 */
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask } from '../support/ask.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { lead } from '../support/members.ts'
import { fill, makeReadOnly, mountSmallDisk, unmount } from '../support/mounts.ts'
import { equalReplicas } from '../support/replicas.ts'
import { SteadyWriter } from '../support/writer.ts'

const diskMiB = 96
/** The server with the small disk. */
const sick = 1
const others = [0, 2]

async function healthOf(cluster: Cluster, at: number): Promise<number> {
  return (await ask(cluster.server(at).spec.ports.ops, 'GET', '/health')).status
}

async function refusalsLogged(cluster: Cluster, at: number): Promise<number> {
  const text = await readFile(cluster.server(at).logFile, 'utf8')
  return text.split('the disk refuses a write').length - 1
}

/** The others serve, and this one too as far as it can. */
async function judgeWhileSick(t: Test, cluster: Cluster, writer: SteadyWriter): Promise<void> {
  const leader = await cluster.waitForLeader({ except: sick })
  t.not(leader, sick, 'another leads')
  const written = writer.accepted.length
  await eventuallyTrue('writes go on', () => writer.accepted.length > written + 50)
  for (const at of others) t.equal(await healthOf(cluster, at), 200, `server ${at} is healthy`)
  t.equal(await healthOf(cluster, sick), 503)
  const stale = await cluster.variables(sick).read('ready/0', 'stale')
  t.match(stale, { type: 'ok', seen: { value: 'yes' } }, 'stale reads are answered')
  t.equal(
    (await cluster.variables(sick).put('ready/sick', 'yes')).type,
    'ok',
    'it passes on writes',
  )
}

async function judgeAfterwards(t: Test, cluster: Cluster, writer: SteadyWriter): Promise<void> {
  const freedMs = performance.now()
  await eventuallyTrue('it is healthy', async () => (await healthOf(cluster, sick)) === 200)
  t.comment(`healthy ${(performance.now() - freedMs).toFixed(0)} ms after there was room`)
  await writer.stop()
  t.comment(
    `${writer.accepted.length} writes, ${writer.failed} failed, longest gap ${writer.takeLongestGapMs().toFixed(0)} ms`,
  )
  const prefix = writer.accepted[0]?.path.split('/')[0] ?? ''
  const listed = new Map((await equalReplicas(cluster, prefix)).map((row) => [row.Path, row]))
  const lost = writer.accepted.filter(({ path, index }) => listed.get(path)?.ModifyIndex !== index)
  t.same(lost, [], 'no acknowledged write is lost')
  t.equal(cluster.server(sick).crash, null)
  t.ok(cluster.server(sick).running)
}

/** Fills the disk until a write is refused: a segment in preparation that finds no room gives back what it took. */
async function fillUp(t: Test, cluster: Cluster, refusalsBefore: number): Promise<string> {
  const filler = join(cluster.server(sick).dataFolder, 'filler')
  let fullMs = 0
  await eventuallyTrue('the disk is full and told to be', async () => {
    await fill(filler)
    fullMs ||= performance.now()
    return (await healthOf(cluster, sick)) === 503
  })
  t.comment(`told ${(performance.now() - fullMs).toFixed(0)} ms after it was full`)
  await eventuallyTrue('a write is refused', async () => {
    await fill(filler)
    return (await refusalsLogged(cluster, sick)) > refusalsBefore
  })
  return filler
}

void t.test('a disk that is full, then one that is read-only', async (t) => {
  let mounted = false
  const cluster = await startCluster(t, {
    async prepare(server, at) {
      if (at !== sick) return
      await mkdir(server.dataFolder, { mode: 0o700 })
      mounted = await mountSmallDisk(t, server.dataFolder, diskMiB)
    },
  })
  if (!mounted) {
    t.comment('NOT TESTED: this machine lets the test mount nothing')
    return
  }

  // Before the cluster's files are removed.
  t.teardown(() => unmount(cluster.server(sick).dataFolder).catch(() => undefined))

  await t.test('of a follower', async (t) => {
    await lead(cluster, 0)
    const writer = new SteadyWriter(
      others.map((at) => cluster.variables(at)),
      'follower',
    )
    const filler = await fillUp(t, cluster, 0)
    await judgeWhileSick(t, cluster, writer)
    t.equal(writer.failed, 0, 'nobody notices')
    const refusals = await refusalsLogged(cluster, sick)
    t.ok(refusals <= 2, `the log says it once for log and state: ${refusals}`)
    await rm(filler)
    await judgeAfterwards(t, cluster, writer)
  })

  await t.test('of the leader', async (t) => {
    await lead(cluster, sick)
    const writer = new SteadyWriter(
      cluster.all.map((at) => cluster.variables(at)),
      'leader',
    )
    const filler = await fillUp(t, cluster, await refusalsLogged(cluster, sick))
    await judgeWhileSick(t, cluster, writer)
    await rm(filler)
    await judgeAfterwards(t, cluster, writer)
  })

  await t.test('of a server that is stopped meanwhile', async (t) => {
    const writer = new SteadyWriter(
      others.map((at) => cluster.variables(at)),
      'stopped',
    )
    const filler = await fillUp(t, cluster, await refusalsLogged(cluster, sick))
    await cluster.terminate(sick)
    t.match(await cluster.server(sick).logTail(3), 'code 0', 'it ends in order')
    await rm(filler)
    await cluster.server(sick).start()
    await judgeAfterwards(t, cluster, writer)
  })

  await t.test('of a server that is started meanwhile', async (t) => {
    const writer = new SteadyWriter(
      others.map((at) => cluster.variables(at)),
      'started',
    )
    const filler = await fillUp(t, cluster, await refusalsLogged(cluster, sick))
    await cluster.kill(sick)
    // The end of the process may have given some room free.
    await fill(filler)
    const refusals = await refusalsLogged(cluster, sick)
    await cluster.server(sick).start()
    await eventuallyTrue('it waits', async () => (await refusalsLogged(cluster, sick)) > refusals)
    t.ok(cluster.server(sick).running)
    await rm(filler)
    await judgeAfterwards(t, cluster, writer)
  })

  await t.test('of a leader, read-only', async (t) => {
    await lead(cluster, sick)
    const restore = await makeReadOnly(t, cluster.server(sick).dataFolder)
    if (restore === null) {
      t.comment('NOT TESTED: a read-only disk; this machine lets the test mount none')
      return
    }
    const readOnlyMs = performance.now()
    const refusals = await refusalsLogged(cluster, sick)
    await eventuallyTrue('it is told', async () => (await healthOf(cluster, sick)) === 503)
    t.comment(`told ${(performance.now() - readOnlyMs).toFixed(0)} ms after it was read-only`)
    const writer = new SteadyWriter(
      cluster.all.map((at) => cluster.variables(at)),
      'readonly',
    )
    // What is open can be written still. It shows when the state needs a new file, or the log.
    const large = 'v'.repeat(15_000)
    const many = Array.from({ length: 16 }, (_, at) => `large/${at}`)
    await eventuallyTrue(
      'a write is refused',
      async () => {
        await Promise.all(many.map((path) => cluster.variables(others[0] ?? 0).put(path, large)))
        return (await refusalsLogged(cluster, sick)) > refusals
      },
      { timeoutMs: 60_000, everyMs: 0 },
    )
    await judgeWhileSick(t, cluster, writer)
    await restore()
    await judgeAfterwards(t, cluster, writer)
  })
})
