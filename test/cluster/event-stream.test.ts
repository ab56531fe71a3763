/** Events over three servers: readers everywhere are told the log, whoever dies, and a reader that stands still harms nobody. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { EventFollower, type ToldFrame } from '../support/event-follower.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { SteadyWriter } from '../support/writer.ts'

const topic = 'topic=Variable:follow/*'

async function entriesLater(cluster: Cluster, writer: SteadyWriter, writes: number) {
  const before = writer.accepted.length
  await eventuallyTrue(`${writes} writes`, () => writer.accepted.length >= before + writes, {
    timeoutMs: 60_000,
  })
}

void t.test(
  'readers on every server are told exactly the log, through a leader that dies',
  async (t) => {
    const cluster = await startCluster(t)
    const follow = (at: number, snapshots: boolean) => {
      const follower = new EventFollower({ cluster, at, query: topic, snapshots })
      t.teardown(() => follower.stop())
      return follower
    }
    const writer = new SteadyWriter(
      cluster.all.map((at) => cluster.variables(at)),
      'follow',
    )
    t.teardown(() => writer.stop())
    await entriesLater(cluster, writer, 20)
    const followers = cluster.all.map((at) => follow(at, false))
    const late = cluster.all.map((at) => follow(at, true))
    await entriesLater(cluster, writer, 50)

    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    await entriesLater(cluster, writer, 50)
    await cluster.restart(leader)
    late.push(follow(leader, true))
    await entriesLater(cluster, writer, 50)

    // One more is stopped in order: its readers are told, and go on.
    const stopped = (leader + 1) % cluster.size
    await cluster.terminate(stopped)
    await entriesLater(cluster, writer, 50)
    await writer.stop()
    const last = await cluster.variables(leader).put('follow/last', 'end')
    if (last.type !== 'ok') throw new Error('the last write must succeed')

    const all = [...followers, ...late]
    for (const follower of all) {
      await eventuallyTrue('all is told', () => follower.told >= (last.index ?? 0), {
        timeoutMs: 60_000,
      })
      t.equal(follower.fault, null)
    }
    const [first] = followers
    const expected = first?.events ?? []
    for (const follower of followers) t.same(briefly(follower.events), briefly(expected))
    t.ok(
      all.some(({ ended }) => ended.includes('this server stops')),
      'a stop in order says so',
    )
    const told = new Map(expected.map(({ Index, Key }) => [Index, Key]))
    for (const { path, index } of writer.accepted) t.equal(told.get(index), path)
    const state = await stateOf(cluster, leader)
    t.ok(state.size > 0)
    for (const follower of all) t.same(sorted(follower.state()), sorted(state))
    t.comment(
      `${expected.length} events, ${all.map(({ snapshots }) => snapshots).join(' ')} snapshots`,
    )
  },
)

function briefly(events: EventFollower['events']): readonly string[] {
  return events.map(({ Index, Type, Key }) => `${Index} ${Type} ${Key}`)
}

function sorted(state: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...state].toSorted(([left], [right]) => (left < right ? -1 : 1))
}

async function stateOf(cluster: Cluster, at: number): Promise<ReadonlyMap<string, number>> {
  const listed = await cluster.http(at).json('GET', '/v1/vars?prefix=follow/')
  return new Map(
    (listed as { readonly Path: string; readonly ModifyIndex: number }[]).map((row) => [
      row.Path,
      row.ModifyIndex,
    ]),
  )
}

void t.test(
  'a reader that stands still is told that it fell behind, and others are not held up',
  async (t) => {
    const cluster = await startCluster(t, {
      servers: 1,
      config: { limits: { events_kept_max: 256 } },
    })
    // The last entry that the server makes by itself: from then on indexes are those of the writes below.
    await cluster.logged(0, /all servers know newer commands/)
    const still = await openStill(t, cluster, 'topic=KV:big/*&index=now')
    const other = new EventFollower({ cluster, at: 0, query: 'topic=KV:big/*', snapshots: true })
    t.teardown(() => other.stop())
    await eventuallyTrue('the other reader is there', () => other.snapshots > 0)

    // Some 70 KB of frames each: more than the sockets on the way take.
    const Value = Buffer.alloc(512).toString('base64')
    for (let Flags = 1; Flags <= 400; Flags += 1) {
      const body = JSON.stringify(
        Array.from({ length: 64 }, (_, at) => ({
          KV: { Verb: 'set', Key: `big/${at}`, Value, Flags },
        })),
      )
      const reply = await cluster.http(0).request('PUT', '/v1/txn', { body })
      t.equal(reply.status, 200)
    }
    await cluster.http(0).request('PUT', '/v1/kv/big/end', { body: 'end' })
    await eventuallyTrue('the other reader has it all', () => other.state().has('big/end'))
    t.equal(other.fault, null)

    const frames = await still()
    let told = 0
    for (const { Index = 0, Error } of frames.filter((frame) => Object.keys(frame).length > 0)) {
      if (Error === undefined) {
        if (told !== 0 && Index !== told + 1) t.fail(`${Index} after ${told}`)
        told = Index
      } else {
        t.match(Error, /not kept any more/)
        t.equal(Index, told)
      }
    }
    t.ok(frames.at(-1)?.Error, 'the last frame says why')
    t.ok(frames.length > 1)
  },
)

/** Opens a stream and takes nothing; returns the way to read it to its end. */
async function openStill(
  t: Test,
  cluster: Cluster,
  query: string,
): Promise<() => Promise<readonly ToldFrame[]>> {
  const { http } = cluster.server(0).spec.ports
  const request = get({
    host: '127.0.0.1',
    port: http,
    path: `/v1/event/stream?${query}`,
    agent: false,
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.teardown(() => request.destroy())
  return async () => {
    const text = await eventually('the end of the stream', async () => {
      const parts = await response.toArray()
      return Buffer.concat(parts as Buffer[]).toString()
    })
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ToldFrame)
  }
}
