/**
 * `npm run golden`: writes the data folder and the archive of one version of the program, which every later version must read.
 *
 *   npm run golden -- --name 0.1.0 [--program PATH]
 *
 * `--program` is the `bin/muster` of another version; without it these sources run. See test/golden/README.md.
 */
import { parseArgs } from 'node:util'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cluster } from '../test/support/cluster.ts'
import {
  askGolden,
  fillGoldenHoldings,
  fillGoldenLogins,
  fillGoldenNames,
  fillGoldenWorkloads,
  goldenAnswers,
  goldenOptions,
  writeGolden,
  writeGoldenKey,
} from '../test/support/golden.ts'

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { name: { type: 'string' }, program: { type: 'string' } },
  })
  const { name, program } = values
  if (name === undefined || !/^[\w.-]+$/.test(name))
    throw new Error('--name: a version or a commit')
  const folder = await mkdtemp(join(tmpdir(), 'muster-golden-'))
  const cluster = await Cluster.start({
    ...goldenOptions(await writeGoldenKey(folder)),
    ...(program !== undefined && { program }),
  })
  try {
    const names = await fillGoldenNames(cluster)
    const logins = await fillGoldenLogins(cluster)
    await fillGoldenWorkloads(cluster, { goesOn: false })
    await cluster.terminate(0)
    await cluster.restart(0)
    const ids = {
      ...names,
      ...logins,
      ...(await fillGoldenHoldings(cluster)),
      ...(await fillGoldenWorkloads(cluster, { goesOn: true })),
    }
    const answers = await goldenAnswers(cluster, ids)
    const archive = await askGolden(cluster, 'GET /v1/operator/snapshot')
    if (archive.status !== 200) throw new Error(`snapshot: ${archive.status}`)
    await cluster.kill(0)
    await writeGolden(name, { ids, answers }, archive.body, cluster.server(0).dataFolder)
    console.log(`${Object.keys(answers).length} reads are recorded in test/golden/${name}`)
  } finally {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

await main()
