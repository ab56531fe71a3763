/** A server that lost its log and kept its id does not come back as if it had promised nothing. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'

void t.test('with its id and without its log it refuses to start', async (t) => {
  const cluster = await startCluster(t)
  const leader = await cluster.waitForLeader()
  const [behind = 0, lost = 0] = cluster.all.filter((at) => at !== leader)
  await cluster.kill(behind)
  const reply = await cluster.http(leader).request('PUT', '/v1/kv/acknowledged', { body: 'yes' })
  t.equal(reply.body.toString(), 'true')
  await cluster.kill(leader)
  await cluster.kill(lost)
  const { dataFolder } = cluster.server(lost)
  for (const name of ['raft', 'state']) await rm(join(dataFolder, name), { recursive: true })
  await cluster.server(lost).start()
  await cluster.server(behind).start()
  await cluster.logged(lost, /holds no log, but this server had one/)
  await eventuallyTrue('it ended', async () => cluster.server(lost).crash !== null)
  t.equal(cluster.server(lost).crash, 'code 1, signal null')

  // As a new server it is welcome.
  await cluster.server(leader).start()
  await cluster.waitForLeader()
  await cluster.wipe(lost)
  await cluster.server(lost).start()
  await eventuallyTrue('it has what was acknowledged', async () => {
    const found = await cluster.http(lost).request('GET', '/v1/kv/acknowledged?raw&stale')
    return found.body.toString() === 'yes'
  })
})

void t.test('a leader whose data folder is deleted hands over', async (t) => {
  const cluster = await startCluster(t)
  const lost = await cluster.waitForLeader()
  await rm(cluster.server(lost).dataFolder, { recursive: true })
  await cluster.logged(lost, /the disk takes no writes.*ENOENT/)
  const next = await cluster.waitForLeader({ except: lost })
  t.not(next, lost)
  const reply = await cluster.http(lost).request('PUT', '/v1/kv/passed-on', { body: 'yes' })
  t.equal(reply.body.toString(), 'true', 'it passes writes on')
})

void t.test('a leader whose log files alone are deleted hands over too', async (t) => {
  const cluster = await startCluster(t)
  const lost = await cluster.waitForLeader()
  const folder = join(cluster.server(lost).dataFolder, 'raft')
  for (const name of await readdir(folder)) await rm(join(folder, name), { force: true })
  await cluster.logged(lost, /the disk takes no writes.*the log in .* was deleted/)
  t.not(await cluster.waitForLeader({ except: lost }), lost)
})

void t.test('a follower whose data folder is deleted acknowledges nothing', async (t) => {
  const cluster = await startCluster(t)
  const leader = await cluster.waitForLeader()
  const [lost = 0, other = 0] = cluster.all.filter((at) => at !== leader)
  await rm(cluster.server(lost).dataFolder, { recursive: true, maxRetries: 5 })
  await cluster.logged(lost, /the disk takes no writes.*ENOENT/)
  const put = (path: string) =>
    cluster
      .http(leader)
      .request('PUT', path, { body: 'yes' })
      .then(
        ({ body }) => body.toString(),
        (error: unknown) => String(error),
      )
  t.equal(await put('/v1/kv/of-two'), 'true', 'two others are a majority')
  await cluster.kill(other)
  t.not(await Promise.race([put('/v1/kv/of-one'), setTimeout(5_000, 'no answer')]), 'true')
  await cluster.server(other).start()
  await eventuallyTrue('two take writes again', async () => {
    const next = await cluster.waitForLeader({ except: lost })
    const reply = await cluster.http(next).request('PUT', '/v1/kv/again', { body: 'yes' })
    return reply.body.toString() === 'true'
  })
})
