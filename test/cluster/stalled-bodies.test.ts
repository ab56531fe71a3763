/**
 * Hundreds of clients that announce 2 MiB each, send all but the last byte and stand still: what a server holds of it, whom it
 * answers meanwhile, and that it is rid of them. With access control none of them has a token.
 */
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'

const bodyBytes = 2 * 2 ** 20
const MiB = 2 ** 20
/** Three times the budget: the bodies of the long part are 600 MiB and more. */
const grownBytesMax = 200 * MiB
/** What the budget held goes back to the system. The rest is a heap that has worked, and what is fragmented. */
const leftBytesMax = 100 * MiB

async function residentBytes(cluster: Cluster): Promise<number> {
  const text = await readFile(`/proc/${cluster.server(0).pid ?? 0}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024
}

type Stalled = { readonly socket: Socket; text: string; closed: boolean }

function stall(t: Test, port: number): Stalled {
  const socket = connect(port, '127.0.0.1')
  const stalled: Stalled = { socket, text: '', closed: false }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => (stalled.text += text))
  socket.on('error', () => {})
  socket.on('close', () => (stalled.closed = true))
  t.teardown(() => socket.destroy())
  const head = `PUT /v1/catalog/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bodyBytes}\r\n\r\n`
  socket.write(head)
  socket.write(allButOne)
  return stalled
}

const allButOne = Buffer.alloc(bodyBytes - 1, ' ')

type Attack = {
  readonly all: readonly Stalled[]
  readonly mostBytes: () => number
  /** More than before, now. */
  readonly leftBytes: () => Promise<number>
}

async function attack(t: Test, cluster: Cluster, clients: number): Promise<Attack> {
  const { http } = cluster.server(0).spec.ports
  const before = await residentBytes(cluster)
  let most = before
  const watch = setInterval(() => {
    void residentBytes(cluster).then((bytes) => (most = Math.max(most, bytes)))
  }, 50)
  t.teardown(() => clearInterval(watch))
  const all = Array.from({ length: clients }, () => stall(t, http))
  await eventuallyTrue('each was answered, or has sent what it sends', () =>
    all.every(({ text, closed, socket }) => text !== '' || closed || socket.writableLength === 0),
  )
  const leftBytes = async () => (await residentBytes(cluster)) - before
  return { all, mostBytes: () => most - before, leftBytes }
}

function countOf(all: readonly Stalled[], status: number): number {
  return all.filter(({ text }) => text.startsWith(`HTTP/1.1 ${status} `)).length
}

async function tellBytes(t: Test, cluster: Cluster, grown: number): Promise<void> {
  const now = (await residentBytes(cluster)) / MiB
  t.comment(`grew by ${(grown / MiB).toFixed(0)} MiB at most, ${now.toFixed(0)} MiB resident now`)
}

void t.test('without a token none of it is read', async (t) => {
  const clients = 600
  const config = { acl: { enabled: true } }
  const cluster = await startCluster(t, { servers: 1, config, writeFirst: false })
  await cluster.waitForLeader()
  const { all, mostBytes } = await attack(t, cluster, clients)
  await eventuallyTrue('all are answered and gone', () => all.every(({ closed }) => closed))
  t.ok(countOf(all, 403) >= clients * 0.9, `${countOf(all, 403)} of ${clients} were told 403`)
  t.equal(countOf(all, 200), 0)
  t.ok(mostBytes() < grownBytesMax, `${mostBytes()} bytes`)
  t.equal((await cluster.http(0).request('GET', '/v1/status/leader')).status, 200)
  await tellBytes(t, cluster, mostBytes())
})

void t.test('without access control they share a budget, and are cut off', async (t) => {
  const clients = 100
  const cluster = await startCluster(t, { servers: 1 })
  await cluster.waitForLeader()
  const { all, mostBytes, leftBytes } = await attack(t, cluster, clients)
  const small = await cluster.http(0).request('PUT', '/v1/kv/small', { body: 'x'.repeat(50_000) })
  t.equal(small.status, 200, 'a small body comes through')
  await eventuallyTrue('all are answered and gone', () => all.every(({ closed }) => closed), {
    timeoutMs: 30_000,
  })
  t.ok(countOf(all, 503) > 0, `${countOf(all, 503)} found no room`)
  t.equal(countOf(all, 503) + countOf(all, 408) > clients * 0.9, true, 'they are told why')
  t.ok(mostBytes() < grownBytesMax, `${mostBytes()} bytes`)
  await eventuallyTrue(
    'what the bodies held is given back',
    async () => (await leftBytes()) < leftBytesMax,
    { timeoutMs: 30_000 },
  )
  const large = await cluster.http(0).request('PUT', '/v1/kv/large', { body: 'x'.repeat(500_000) })
  t.equal(large.status, 200, 'there is room again')
  await tellBytes(t, cluster, mostBytes())
})
