/** Thousands of keys made and deleted below a prefix with one key: nothing is left that a read of the prefix could look at. */
import { Readable } from 'node:stream'
import t from 'tap'
import { verifyArchive } from '../../../src/cli/verbs/snapshot/archive-file.ts'
import { amount } from '../../support/randomness.ts'
import { serverOfThree } from '../../support/server-of-three.ts'
import type { Servers } from '../../support/servers.ts'
import { eventuallyTrue } from '../../support/eventually.ts'

const keys = amount('DELETED_KEYS', { gate: 12_000, long: 25_000 })
const operationsMax = 64
/** Transactions under way at a time. */
const atOnce = 8
/** Rows that come and go by themselves: servers' checks, keys of the cluster. */
const othersMax = 20

async function rowsOf(cluster: Servers, at: number): Promise<number> {
  const reply = await cluster.http(at).request('GET', '/v1/operator/snapshot')
  if (reply.status !== 200) throw new Error(`GET of the snapshot: ${reply.status}`)
  return (await verifyArchive(Readable.from([reply.body]))).rows
}

/** Each key made and deleted, by transactions whose keys are next to one another. */
async function makeAndDelete(cluster: Servers, at: number): Promise<number> {
  const http = cluster.http(at)
  const value = Buffer.alloc(24, 'v').toString('base64')
  let next = 0
  const send = async (first: number, verb: 'set' | 'delete') => {
    const count = Math.min(operationsMax, keys - first)
    const operations = Array.from({ length: count }, (_, more) => ({
      KV: { Verb: verb, Key: `made/${first + more}`, ...(verb === 'set' && { Value: value }) },
    }))
    const reply = await http.request('PUT', '/v1/txn', {
      body: JSON.stringify(operations),
      timeoutMs: 60_000,
    })
    if (reply.status !== 200) throw new Error(`PUT /v1/txn: ${reply.status}`)
  }
  const worker = async () => {
    for (let first = next; first < keys; first = next) {
      next += operationsMax
      await send(first, 'set')
      await send(first, 'delete')
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return next
}

void t.test('deletions leave no rows behind, and the prefix still tells of them', async (t) => {
  const cluster = await serverOfThree(t)
  const leader = await cluster.waitForLeader()
  const read = async (at: number) => {
    const reply = await cluster.http(at).request('GET', '/v1/kv/made/?recurse')
    const found = JSON.parse(reply.body.toString()) as readonly { readonly Key: string }[]
    const index = Number(reply.headers['x-service-index'])
    return { keys: found.map(({ Key }) => Key), index }
  }
  await cluster.http(leader).json('PUT', '/v1/kv/made/stays', { body: 'v' })
  // One deletion beforehand: what stands for the directory stands for all that is deleted in it.
  await cluster.http(leader).json('PUT', '/v1/kv/made/first', { body: 'v' })
  await cluster.http(leader).json('DELETE', '/v1/kv/made/first')
  const before = await rowsOf(cluster, leader)
  const first = await read(leader)

  t.ok((await makeAndDelete(cluster, leader)) >= keys)

  const after = await rowsOf(cluster, leader)
  t.comment(`${before} rows before, ${after} after`)
  t.ok(after - before <= othersMax, `${after - before} rows more`)
  const last = await read(leader)
  t.same(last.keys, ['made/stays'])
  t.ok(last.index > first.index, 'a blocking query of the prefix is woken by deletions')
  for (const at of cluster.all) {
    await eventuallyTrue(`server ${at} reads the same`, async () => {
      const seen = await read(at)
      return seen.index === last.index && seen.keys.join() === 'made/stays'
    })
  }
})
