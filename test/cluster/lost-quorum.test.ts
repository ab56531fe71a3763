/** Clusters that lost their quorum for good, and go on by `operator raft recover`. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventually, eventuallyTrue } from '../support/eventually.ts'
import { peers, voters } from '../support/members.ts'

const muster = fileURLToPath(new URL('../../bin/muster', import.meta.url))

type Ended = { readonly code: number; readonly out: string; readonly err: string }

function recover(cluster: Cluster, at: number, ...words: readonly string[]): Promise<Ended> {
  const { configFile } = cluster.server(at)
  const args = ['operator', 'raft', 'recover', '-config', configFile, ...words]
  return new Promise((resolve, reject) => {
    execFile(muster, args, (error, out, err) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ code: Number(error?.code ?? 0), out, err })
    })
  })
}

/** Writes until told to stop; what was acknowledged, by path. */
function writing(cluster: Cluster, at: number, prefix: string) {
  const acknowledged = new Map<string, string>()
  let wanted = true
  const variables = cluster.variables(at, 2_000)
  const done = (async () => {
    for (let i = 0; wanted; i += 1) {
      const path = `${prefix}/${i}`
      const outcome = await variables.put(path, `value ${i}`)
      if (outcome.type === 'ok') acknowledged.set(path, `value ${i}`)
    }
  })()
  return {
    acknowledged,
    async stop() {
      wanted = false
      await done
    },
  }
}

async function assertAllThere(
  t: Test,
  cluster: Cluster,
  at: number,
  written: ReadonlyMap<string, string>,
): Promise<void> {
  const variables = cluster.variables(at)
  let found = 0
  for (const [path, value] of written) {
    const outcome = await variables.read(path)
    if (outcome.type === 'ok' && outcome.seen.value === value) found += 1
  }
  t.equal(found, written.size, 'every acknowledged write is there')
}

async function writes(cluster: Cluster, at: number, path: string): Promise<void> {
  await eventually(`server ${at} takes writes`, async () => {
    const outcome = await cluster.variables(at, 5_000).put(path, 'yes')
    return outcome.type === 'ok' ? true : undefined
  })
}

/** From outside, as a stranger would ask: the id that its handshake says is in each refusal and in its own log. */
async function stoppedClusterId(cluster: Cluster, at: number): Promise<string> {
  const { out } = await recover(cluster, at, '-keep-only-self', '-dry-run', '-force')
  return /Old cluster +=\s(\S+)/.exec(out)?.[1] ?? ''
}

/** A survivor, and those that die around it. The leader is one that holds every acknowledged write. */
async function survivorOf(cluster: Cluster) {
  const survivor = await cluster.waitForLeader()
  return { survivor, lost: cluster.all.filter((at) => at !== survivor) }
}

const gossipOf = (cluster: Cluster, at: number) => {
  return { retry_join: [`127.0.0.1:${cluster.server(at).spec.ports.gossip}`] }
}

void t.test('one of three survives, and the cluster grows again from it', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const { survivor, lost } = await survivorOf(cluster)
  const [wiped = -1, kept = -1] = lost
  const writer = writing(cluster, survivor, 'kept')
  await eventuallyTrue('much is written', () => writer.acknowledged.size > 100)
  await Promise.all([cluster.kill(wiped), cluster.kill(kept)])
  await writer.stop()
  await cluster.wipe(wiped)

  await t.test('a server that runs is left alone', async (t) => {
    t.match(await recover(cluster, survivor, '-keep-only-self', '-yes'), {
      code: 1,
      err: /is in use by process \d+/,
    })
  })

  await cluster.terminate(survivor)
  await t.test('nothing happens unasked', async (t) => {
    t.match(await recover(cluster, survivor, '-keep-only-self'), { code: 2, err: /-dry-run/ })
    const dry = await recover(cluster, survivor, '-keep-only-self', '-dry-run')
    t.match(dry, { code: 0, out: /left out[^]*Nothing was changed/ })
  })
  await t.test('while another server answers, it asks for force', async (t) => {
    await cluster.server(kept).start()
    await eventuallyTrue('it listens', async () => {
      const { code, err } = await recover(cluster, survivor, '-keep-only-self', '-dry-run')
      return code === 1 && err.includes('still answers')
    })
    const refused = await recover(cluster, survivor, '-keep-only-self', '-yes')
    t.match(refused, { code: 1, err: /Nothing was changed/ })
    await cluster.kill(kept)
  })

  const old = await stoppedClusterId(cluster, survivor)
  const done = await recover(cluster, survivor, '-keep-only-self', '-yes')
  t.match(done, { code: 0, out: /Done\.[^]*Start this server/ })
  const again = await recover(cluster, survivor, '-keep-only-self', '-yes')
  t.match(again, { code: 0, out: /was done already/ })
  t.not(await stoppedClusterId(cluster, survivor), old, 'it is another cluster')

  await cluster.server(survivor).start()
  await writes(cluster, survivor, 'after/recovery')
  t.equal(await cluster.leaderAsSeenBy(survivor), survivor, 'it leads by itself')
  await assertAllThere(t, cluster, survivor, writer.acknowledged)

  const first = await cluster.add(gossipOf(cluster, survivor))
  await eventuallyTrue(
    'the first new server is a member',
    async () => (await peers(cluster, survivor)).length === 2,
    detection,
  )

  await cluster.server(kept).start()
  await t.test('a server of the old cluster with its old data is refused', async (t) => {
    await eventuallyTrue(
      'it says so',
      async () =>
        (await readFile(cluster.server(kept).logFile, 'utf8')).includes(
          'which was recovered without it',
        ),
      detection,
    )
    t.equal((await peers(cluster, survivor)).length, 2, 'it is no member')
  })

  const second = await cluster.add(gossipOf(cluster, survivor))
  const names = [survivor, first, second].map((at) => cluster.server(at).spec.name)
  await eventuallyTrue(
    'both new servers vote, although the old one is about',
    async () => (await voters(cluster, survivor)) === names.toSorted().join(' '),
    detection,
  )
  await assertAllThere(t, cluster, second, writer.acknowledged)
  await cluster.kill(survivor)
  await writes(cluster, first, 'after/kill')
  await cluster.server(survivor).start()
  await writes(cluster, survivor, 'after/return')
  await assertAllThere(t, cluster, survivor, writer.acknowledged)
})

void t.test(
  'a majority of the old cluster that returns does not reach its successor',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const { survivor, lost } = await survivorOf(cluster)
    const [one = -1, other = -1] = lost
    await writes(cluster, survivor, 'before/all')
    await Promise.all(cluster.all.map((at) => cluster.terminate(at)))
    t.match(await recover(cluster, survivor, '-keep-only-self', '-yes'), { code: 0 })
    await cluster.server(survivor).start()
    await writes(cluster, survivor, 'after/recovery')

    await Promise.all(lost.map((at) => cluster.server(at).start()))
    await eventuallyTrue(
      'the others go on as the old cluster',
      async () => lost.includes((await cluster.leaderAsSeenBy(one)) ?? -1),
      { timeoutMs: 60_000 },
    )
    await writes(cluster, one, 'old/one')
    await writes(cluster, survivor, 'after/both')

    const seen = async (at: number, path: string) => {
      const outcome = await cluster.variables(at).read(path)
      return outcome.type === 'ok' ? outcome.seen.value : outcome.type
    }
    t.equal(await seen(survivor, 'old/one'), null, 'their writes do not reach the successor')
    t.equal(await seen(other, 'after/both'), null, 'nor do its writes reach them')
    t.equal(await seen(survivor, 'before/all'), 'yes')
    t.same(
      (await peers(cluster, survivor)).map(({ Node }) => Node),
      [cluster.server(survivor).spec.name],
    )
    t.equal((await peers(cluster, one)).length, 3, 'to them it is a member that failed')

    const [, loser = -1] = lost
    await cluster.wipe(loser)
    await cluster.server(loser).start()
    await eventuallyTrue(
      'emptied, one of them joins the successor',
      async () => (await peers(cluster, survivor)).length === 2,
      detection,
    )
  },
)

void t.test('two of five survive and go on together', async (t) => {
  const cluster = await startCluster(t, { servers: 5 })
  const { survivor, lost } = await survivorOf(cluster)
  const [second = -1, ...dead] = lost
  // It lags behind when the others die, and both have entries that nobody can vouch for.
  await cluster.kill(second)
  const writer = writing(cluster, survivor, 'kept')
  await eventuallyTrue('much is written', () => writer.acknowledged.size > 50)
  await Promise.all(dead.map((at) => cluster.wipe(at)))
  await writer.stop()
  const servers = await peers(cluster, survivor)
  await cluster.terminate(survivor)

  const file = join(cluster.folder, 'peers.json')
  const named = [survivor, second].map((at) => {
    const name = cluster.server(at).spec.name
    return { id: servers.find(({ Node }) => Node === name)?.ID }
  })
  await writeFile(file, JSON.stringify(named))
  for (const at of [survivor, second]) {
    t.match(await recover(cluster, at, '-peers', file, '-yes'), { code: 0 })
  }
  t.equal(
    await stoppedClusterId(cluster, survivor),
    await stoppedClusterId(cluster, second),
    'both are of the same new cluster',
  )
  for (const at of [survivor, second]) await cluster.server(at).start()
  await writes(cluster, second, 'after/recovery')
  t.equal(await cluster.leaderAsSeenBy(second), survivor, 'the most complete one leads')
  await assertAllThere(t, cluster, second, writer.acknowledged)
  const names = [survivor, second].map((at) => cluster.server(at).spec.name)
  t.equal(await voters(cluster, second), names.toSorted().join(' '))
})
