/** New certificates, and a new authority, while writes go on. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { allIsThere, goesOn, knock, tlsBlock, wholeLog } from '../support/rpc-tls.ts'
import { SteadyWriter } from '../support/writer.ts'

void t.test('certificates and authority are replaced while writes go on', async (t) => {
  const folder = t.testdir()
  const first = await Authority.create('The first CA')
  const second = await Authority.create('The second CA')
  const old = await first.issue()
  const kept = await writeTlsFiles(folder, 'kept', first.cert + second.cert, old)
  const files = await writeTlsFiles(folder, 'server', first.cert, old)
  const cluster = await startCluster(t, { config: { tls: tlsBlock(files) } })
  const writer = new SteadyWriter([cluster.variables(0)], 'renewed')
  const reload = async (words: string): Promise<void> => {
    for (const at of cluster.all) {
      const told = async () => (await wholeLog(cluster, at)).split(words).length
      const before = await told()
      process.kill(cluster.server(at).pid ?? 0, 'SIGHUP')
      await eventuallyTrue(`server ${at}: ${words}`, async () => (await told()) > before)
    }
    await goesOn(writer, words)
  }
  await goesOn(writer, 'before')

  await writeFile(files.caFile, first.cert + second.cert)
  await reload(' read again')
  const renewed = await second.issue()
  await writeTlsFiles(folder, 'server', first.cert + second.cert, renewed)
  await reload(' read again')
  for (const at of cluster.all) {
    t.equal(await knock(cluster, at, kept), '', 'the old one is still believed')
    t.equal(await knock(cluster, at, files), '')
  }
  await writeFile(files.caFile, second.cert)
  await reload(' read again')
  for (const at of cluster.all) {
    t.match(await knock(cluster, at, kept), 'ended the connection', 'the old one is not')
    t.equal(await knock(cluster, at, files), '')
  }

  const broken = join(folder, 'server-key.pem')
  await writeFile(broken, 'broken')
  await reload(`tls.key_file ${broken} holds no private key`)
  await writeTlsFiles(folder, 'kept', second.cert, renewed)
  t.equal(await knock(cluster, 0, kept), '', 'what was read before stays')
  await writeFile(broken, renewed.key)

  t.equal(writer.failed, 0, 'no write failed')
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
