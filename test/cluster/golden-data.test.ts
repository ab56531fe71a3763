/** Data folders and snapshot archives of earlier versions: this version reads them all, and works on with what was in them. */
import t, { type Test } from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import {
  askGolden,
  goldenAnswers,
  goldenNames,
  goldenOptions,
  goldenTokenStands,
  goldenWorkloadsGoOn,
  readGolden,
  readGoldenArchive,
  unpackGoldenData,
  writeGoldenKey,
  type Golden,
} from '../support/golden.ts'

const names = await goldenNames()
t.ok(names.length >= 2, `${names.length} earlier versions`)

for (const name of names) {
  void t.test(`a server starts on the data folder of ${name}`, async (t) => {
    const golden = await readGolden(name)
    const cluster = await startCluster(t, {
      ...goldenOptions(await writeGoldenKey(t.testdir())),
      prepare: ({ dataFolder }) => unpackGoldenData(name, dataFolder),
    })
    await answersAsThen(t, cluster, golden)
    await worksOn(t, cluster, golden)
  })

  void t.test(`a fresh server takes over the archive of ${name}`, async (t) => {
    const golden = await readGolden(name)
    const cluster = await startCluster(t, goldenOptions(await writeGoldenKey(t.testdir())))
    await goldenTokenStands(cluster)
    await restore(t, cluster, await readGoldenArchive(name))
    await answersAsThen(t, cluster, { ...golden, answers: withoutLockIndexes(golden.answers) })
    await worksOn(t, cluster, golden)
  })
}

async function restore(t: Test, cluster: Cluster, archive: Buffer): Promise<void> {
  // A new cluster begins at the first command version, and its leader raises that once it has the answers of all servers; what is
  // under way then is to be sent again.
  const reply = await eventually('the archive is taken in', async () => {
    const found = await askGolden(cluster, 'PUT /v1/operator/snapshot', archive)
    return /saved at command version|send the archive again/.test(found.body.toString())
      ? undefined
      : found
  })
  t.equal(reply.status, 200, reply.body.toString())
}

/** A restore gives locks new fencing numbers: docs/decisions/0009. */
function withoutLockIndexes(answers: Golden['answers']): Golden['answers'] {
  const text = JSON.stringify(answers, (name, value: unknown) =>
    name === 'LockIndex' ? undefined : value,
  )
  return JSON.parse(text) as Golden['answers']
}

/** Members may have been added since to what is answered; none is missing or another. */
async function answersAsThen(t: Test, cluster: Cluster, golden: Golden): Promise<void> {
  await goldenTokenStands(cluster)
  const answers = await goldenAnswers(cluster, golden.ids)
  for (const [path, then] of Object.entries(golden.answers)) {
    t.match(answers[path], then, `GET ${path}`)
  }
}

/** What the rows are for: tokens open, sessions hold their locks and end with them, sealed items can be written again. */
async function worksOn(t: Test, cluster: Cluster, { ids }: Golden): Promise<void> {
  await goldenWorkloadsGoOn(cluster, ids)
  const { policyToken = '', roleToken = '', leasedToken, holder = '', endless = '' } = ids
  const statusOf = async (of: string, body?: string, token?: string) =>
    (await askGolden(cluster, of, body, token)).status
  for (const token of [
    policyToken,
    roleToken,
    ...(leasedToken === undefined ? [] : [leasedToken]),
  ]) {
    t.equal(await statusOf('GET /v1/kv/long', undefined, token), 200, 'a token reads what it may')
    t.equal(await statusOf('PUT /v1/kv/long', 'x', token), 403, 'and writes nothing')
  }
  t.equal(await statusOf(`PUT /v1/session/renew/${holder}`), 200)
  const other = await askGolden(cluster, `PUT /v1/kv/held?acquire=${endless}`, 'taken')
  t.equal(other.body.toString(), 'false', 'the lock is held')
  t.equal(await statusOf(`PUT /v1/session/destroy/${holder}`), 200)
  t.equal(await statusOf('GET /v1/kv/held'), 404, 'and its key goes with the session')
  t.equal(await statusOf('PUT /v1/var/app/db', '{"Items":{"user":"v"}}'), 200)
  t.equal(await statusOf('DELETE /v1/namespace/prod'), 409, 'what is in a namespace is counted')
}
