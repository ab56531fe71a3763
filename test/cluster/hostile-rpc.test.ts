/**
 * Hostile input to real servers: calls of every method with anything for arguments, and messages of consensus that lie, on the
 * RPC port; requests without rules on the ops port. No server ends, all lead and follow on, and memory is as before.
 */
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import t from 'tap'
import { encodeValue } from '../../src/rpc/link-codec.ts'
import { dial } from '../../src/wire/dial.ts'
import { wireType } from '../../src/wire/protocol.ts'
import type { WireStream } from '../../src/wire/stream.ts'
import { Wire } from '../../src/wire/wire.ts'
import { ask } from '../support/ask.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { seed } from '../support/randomness.ts'
import { integer, mutated, noise, pick } from '../support/fuzz.ts'
import { mark, markSeenBy } from '../support/mark.ts'
import { inputsWanted, number } from '../wire/hostile/randomness.ts'
import { paths } from '../wire/hostile/target.ts'

t.comment(`FUZZ_SEED=${seed}`)
t.teardown(() => t.comment(`FUZZ_SEED=${seed}`))

const raftFrames = wireType<object>('muster.raft.RaftFrame')
const callFrames = wireType<{ requests: unknown; responses: readonly unknown[]; cancels: unknown }>(
  'muster.server.CallFrame',
)
const growthBytesMax = 300 * 1024 * 1024

async function residentBytes(cluster: Cluster, at: number): Promise<number> {
  const status = await readFile(`/proc/${cluster.server(at).pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

async function speak(
  cluster: Cluster,
  at: number,
  path: string,
  onFrame: (frame: Buffer) => void = () => {},
): Promise<WireStream> {
  const wire = new Wire({ identity: () => ({ clusterId: '', serverId: 'x' }) })
  const address = `127.0.0.1:${cluster.server(at).spec.ports.rpc}`
  const stream = await dial(wire, { address, path, to: '' })
  stream.start({ onFrame, onDrain: () => {}, onClose: () => {} })
  return stream
}

async function isWell(cluster: Cluster, what: string): Promise<void> {
  for (const at of cluster.all) {
    if (cluster.server(at).crash !== null) {
      throw new Error(`${what}: server ${at} ended: ${await cluster.logs(30)}`)
    }
    await mark(cluster, what)
    await eventuallyTrue(
      `server ${at} has it`,
      async () => (await markSeenBy(cluster, at)) === what,
    )
  }
}

const namespaces = [
  'acl',
  'agent',
  'autopilot',
  'catalog',
  'events',
  'health',
  'keyring',
  'kv',
  'members',
]
const verbs = [
  'list',
  'read',
  'put',
  'set',
  'write',
  'create',
  'register',
  'health',
  'rotate',
  'self',
]
const methods = [
  ...namespaces.flatMap((namespace) => verbs.map((verb) => `${namespace}.${verb}`)),
  'server.identity',
  'server.join',
  'server.grant',
  'server.sendState',
  'catalog.agentUpdate',
  'keyring.clusterKey',
  'members.join',
  'operator.restoreBegin',
  'operator.restoreChunk',
  'operator.snapshotSave',
  'sessions.renew',
  'variables.page',
  'variables.put',
]
const names = [
  'id',
  'name',
  'address',
  'region',
  'clusterId',
  'type',
  'from',
  'holds',
  'wanted',
  'path',
]

function anyValue(depth: number): unknown {
  const leaf = () =>
    pick([
      null,
      true,
      '',
      'x',
      '__proto__',
      '\u0000',
      'global',
      number(),
      -1,
      Number.NaN,
      noise(20),
    ])
  if (depth === 0) return leaf()
  return pick([
    leaf,
    () => Array.from({ length: integer(0, 5) }, () => anyValue(depth - 1)),
    () =>
      Object.fromEntries(names.slice(0, integer(0, 11)).map((name) => [name, anyValue(depth - 1)])),
  ])()
}

const cluster = await startCluster(t, { config: { log_level: 'warn' } })
const before = await Promise.all(cluster.all.map((at) => residentBytes(cluster, at)))

await t.test('calls of every method', async () => {
  for (const at of cluster.all) {
    let answers = 0
    const onFrame = (frame: Buffer) => {
      answers += callFrames.decode(frame).responses.length
    }
    let stream = await speak(cluster, at, paths.calls, onFrame)
    for (let id = 1; id < inputsWanted / 4; id += 1) {
      if (!stream.open) stream = await speak(cluster, at, paths.calls, onFrame)
      const args = encodeValue(anyValue(3))
      const request = {
        id,
        method: pick(methods),
        args: integer(0, 8) === 0 ? mutated(args) : args,
        timeoutMs: pick([0, 1, 1_000, 2 ** 32 - 1]),
      }
      stream.write(callFrames.encode({ requests: [request], responses: [], cancels: [] }))
    }
    await eventuallyTrue('most are answered', () => answers > inputsWanted / 8)
    stream.close('done')
  }
  await isWell(cluster, 'calls')
})

await t.test('a leader hears of another, and of what it never sent', async (t) => {
  const { body } = await ask(cluster.server(0).spec.ports.ops, 'GET', '/metrics')
  const term = Number(/^muster_raft_term(?:\{[^}]*\})? (\d+)/m.exec(body)?.[1] ?? 1)
  const lies = [
    { heartbeat: { commitIndex: 0, round: 1 } },
    { appendResponse: { round: 0, ok: true, matchIndex: 2 ** 40 } },
    { heartbeatResponse: { round: 2 ** 40 } },
  ]
  for (const lie of lies) {
    for (let high = term; high < term + 3; high += 1) {
      const stream = await speak(cluster, await cluster.waitForLeader(), paths.raft)
      stream.write(raftFrames.encode({ messages: [{ term: high, ...lie }] }))
      stream.finish('done')
    }
  }
  const leader = await cluster.waitForLeader()
  const stream = await speak(cluster, leader, paths.raft)
  const vote = { lastIndex: 2 ** 40, lastTerm: 2 ** 40, transfer: true }
  const last = { term: Number.MAX_SAFE_INTEGER, voteRequest: vote }
  stream.write(raftFrames.encode({ messages: [last] }))
  await eventuallyTrue('the last term there is ends the stream', () => !stream.open)
  t.pass('it did')
  await isWell(cluster, 'lies')
})

await t.test('the ops port', async (t) => {
  const { ops } = cluster.server(0).spec.ports
  const heads = [
    'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3_000),
    'GET /metrics HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n',
    'POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\nx',
    'GET /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n',
    `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
    `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(5_000)}`,
    'GET / HTTP/1.1\r\n',
    '',
  ]
  const sockets = Array.from({ length: 300 }, () => {
    const socket = connect(ops, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(pick([pick(heads), mutated(Buffer.from(pick(heads)))]))
    return socket
  })
  await eventuallyTrue('it answers', async () => (await ask(ops, 'GET', '/health')).status === 200)
  t.equal((await ask(ops, 'GET', '/metrics')).status, 200)
  for (const socket of sockets) socket.destroy()
  await isWell(cluster, 'requests')
})

await t.test('nothing of it stayed', async (t) => {
  await isWell(cluster, 'all')
  for (const at of cluster.all) {
    await eventuallyTrue(`server ${at} holds what it held`, async () => {
      return (await residentBytes(cluster, at)) - (before[at] ?? 0) < growthBytesMax
    })
  }
  t.notMatch(await cluster.logs(5_000), /consensus stopped|uncaught/i)
})
