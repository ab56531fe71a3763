/** A cluster of plain servers changes over to TLS, one server after another. */
import t from 'tap'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { allIsThere, goesOn, knock, tlsBlock } from '../support/rpc-tls.ts'
import { SteadyWriter } from '../support/writer.ts'

void t.test('plain servers change over to TLS one by one while writes go on', async (t) => {
  const folder = t.testdir()
  const authority = await Authority.create()
  const files = await writeTlsFiles(folder, 'server', authority.cert, await authority.issue())
  const cluster = await startCluster(t, {})
  const writer = new SteadyWriter(
    cluster.all.map((at) => cluster.variables(at)),
    'changed',
  )
  await goesOn(writer, 'before')
  const roll = async (tls: Readonly<Record<string, unknown>>, what: string): Promise<void> => {
    for (const at of cluster.all) {
      await cluster.reconfigure(at, { tls })
      await eventually(`server ${at} takes writes: ${what}`, async () => {
        const outcome = await cluster.variables(at).put(`changed/by-${at}`, what)
        return outcome.type === 'ok' ? true : undefined
      })
      await goesOn(writer, `${what}, up to server ${at}`)
      t.comment(`${what} on server ${at}: longest gap ${writer.takeLongestGapMs().toFixed(0)} ms`)
    }
  }
  await roll(tlsBlock(files, { rpc_upgrade_mode: true }), 'both')
  t.equal(await knock(cluster, 0, null), '', 'plain is taken')
  t.equal(await knock(cluster, 0, files), '', 'and TLS')
  await roll(tlsBlock(files), 'TLS only')
  await writer.stop()
  for (const at of cluster.all) {
    t.match(await knock(cluster, at, null), 'hung up without a word')
    t.equal(await knock(cluster, at, files), '')
    t.equal(cluster.server(at).crash, null)
  }
  await allIsThere(t, cluster, writer)
})
