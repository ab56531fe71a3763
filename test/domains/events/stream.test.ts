/** Streams of events over the whole path of one server: where they begin, what they tell, and how they end. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { seed } from '../../support/randomness.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { randomInteger, seededRandom } from '../../../src/lib/random.ts'
import { serverOfOne, type ServerOfOne, type ServerOfOneOptions } from '../server-of-one.ts'
import { brief, FrameReader, type Event, type Frame } from './frames-of.ts'

async function start(t: Test, options: ServerOfOneOptions = {}) {
  const server = await serverOfOne(t, options)
  const open = async (query: string): Promise<FrameReader> => {
    const { status, body } = await server.open(`/v1/event/stream?${query}`)
    t.equal(status, 200, query)
    return new FrameReader(t, body)
  }
  const put = async (key: string, value = '') => {
    t.equal((await server.ask('PUT', `/v1/kv/${key}`, value)).body, 'true')
    return server.machine.appliedIndex
  }
  return { server, open, put }
}

void t.test('the first frame comes at once, events as they happen', async (t) => {
  const { open, put, server } = await start(t)
  const frames = await open('topic=KV:app/*&index=now')
  t.same(await frames.nextOfAll(), {}, 'the stream stands')
  await put('other', 'x')
  const index = await put('app/a', 'one')
  t.same(await frames.next(), {
    Index: index,
    Events: [
      {
        Topic: 'KV',
        Type: 'KVUpserted',
        Key: 'app/a',
        Namespace: 'default',
        FilterKeys: [],
        Index: index,
        Payload: {
          KV: {
            LockIndex: 0,
            Key: 'app/a',
            Flags: 0,
            Value: 'b25l',
            CreateIndex: index,
            ModifyIndex: index,
            Size: 3,
          },
        },
      },
    ],
  })
  await server.ask('DELETE', '/v1/kv/app/a')
  const [gone] = await frames.events()
  t.equal(gone?.Type, 'KVDeleted')
  t.equal(gone?.Index, index + 1)
  t.match(gone?.Payload, { KV: { Value: 'b25l', ModifyIndex: index } }, 'as it was')
})

void t.test('every topic is told of, and of variables no items', async (t) => {
  const { open, server } = await start(t)
  const frames = await open('index=now')
  const asked: [method: string, path: string, body: unknown, told: string[]][] = [
    [
      'PUT',
      '/v1/catalog/register',
      {
        Node: 'n',
        Address: '10.0.0.1',
        Service: { Service: 'web' },
        Check: { Name: 'c', Status: 'passing' },
      },
      ['+Node n', '+Service web', '+Check c'],
    ],
    ['PUT', '/v1/var/a/b', { Items: { secret: 'hidden' } }, ['+Variable a/b']],
    ['PUT', '/v1/kv/k', 'v', ['+KV k']],
    ['PUT', '/v1/catalog/deregister', { Node: 'n', ServiceID: 'web' }, ['-Service web']],
    ['DELETE', '/v1/var/a/b', undefined, ['-Variable a/b']],
    ['PUT', '/v1/catalog/deregister', { Node: 'n' }, ['-Check c', '-Node n']],
  ]
  for (const [method, path, body, told] of asked) {
    const answer = await server.ask(method, path, body)
    t.ok(answer.status < 300, answer.body)
    const events = await frames.events()
    t.same(events.map(brief).toSorted(), told.toSorted(), path)
    t.notMatch(JSON.stringify(events), /secret|hidden/)
  }
})

void t.test('what one entry changed is one frame: a session and its locks', async (t) => {
  const { open, server } = await start(t)
  await server.ask('PUT', '/v1/catalog/register', { Node: 'n', Address: '10.0.0.1' })
  const created = await server.ask('PUT', '/v1/session/create', {
    Node: 'n',
    NodeChecks: [],
    Behavior: 'delete',
  })
  const { ID } = created.json() as { ID: string }
  for (const key of ['a', 'b']) await server.ask('PUT', `/v1/kv/${key}?acquire=${ID}`, 'held')
  const frames = await open('index=now')
  await server.ask('PUT', `/v1/session/destroy/${ID}`)
  const events = await frames.events()
  t.same(events.map(brief).toSorted(), ['-KV a', '-KV b', `-Session ${ID}`])
  t.equal(new Set(events.map(({ Index }) => Index)).size, 1)
})

void t.test('a long value is left out, and its size says so', async (t) => {
  const { open, put } = await start(t)
  const frames = await open('topic=KV&index=now')
  await put('long', 'x'.repeat(513))
  await put('short', 'x'.repeat(512))
  t.match(await frames.events(), [{ Payload: { KV: { Value: null, Size: 513 } } }])
  t.match(await frames.events(), [{ Payload: { KV: { Value: /^eHh4/, Size: 512 } } }])
})

void t.test('namespaces are apart unless all are asked for', async (t) => {
  const { open, server } = await start(t)
  await server.ask('PUT', '/v1/namespace', { Name: 'team' })
  const [own, other, all] = [
    await open('topic=KV&index=now'),
    await open('topic=KV&index=now&namespace=team'),
    await open('topic=KV&index=now&namespace=*'),
  ]
  await server.ask('PUT', '/v1/kv/in-team?ns=team', '')
  await server.ask('PUT', '/v1/kv/in-default', '')
  t.match(await own.events(), [{ Key: 'in-default', Namespace: 'default' }])
  t.match(await other.events(), [{ Key: 'in-team', Namespace: 'team' }])
  t.match(await all.events(), [{ Key: 'in-team' }])
  t.match(await all.events(), [{ Key: 'in-default' }])
})

void t.test('a stream begins with the index it is given, inclusive', async (t) => {
  const { open, put, server } = await start(t)
  const first = await put('a')
  const second = await put('b')
  const table: [index: string, keys: string[]][] = [
    [`${first}`, ['a', 'b', 'c']],
    [`${second}`, ['b', 'c']],
    [`${second + 1}`, ['c']],
    ['now', ['c']],
    ['0', ['a', 'b', 'c']],
    ['', ['a', 'b', 'c']],
  ]
  const streams: [string, FrameReader, string[]][] = []
  for (const [index, keys] of table) {
    streams.push([index, await open(`topic=KV&index=${index}`), keys])
  }
  const late = await open(`topic=KV&index=${server.machine.appliedIndex + 2}`)
  await put('c')
  await put('d')
  for (const [index, frames, keys] of streams) {
    for (const key of keys) t.match(await frames.events(), [{ Key: key }], `from ${index}`)
  }
  t.match(await late.events(), [{ Key: 'd' }], 'an index to come is waited for')
})

void t.test('an index that is not kept any more is 410, unless a snapshot will do', async (t) => {
  const { open, put, server } = await start(t, { events: { eventsMax: 16 } })
  const old = await put('a')
  for (let at = 0; at < 20; at += 1) await put(`b${at}`)
  const refused = await server.open(`/v1/event/stream?topic=KV&index=${old}`)
  t.equal(refused.status, 410)
  t.match(String(await refused.body.toArray()), /^events of index \d+ are not kept any more/)
  const frames = await open(`topic=KV:a&index=${old}&snapshot=true`)
  const index = server.machine.appliedIndex
  t.match(await frames.next(), { Index: index, Snapshot: true, Events: [{ Key: 'a', Index: old }] })
  t.same(await frames.next(), { Index: index, EndOfSnapshot: true, Events: [] })
  const kept = await open(`topic=KV&index=${index}&snapshot=true`)
  t.match(await kept.next(), { Index: index, Events: [{ Key: 'b19' }] }, 'no snapshot is needed')
  const oldest = await open('topic=KV')
  t.match(await oldest.events(), [{ Key: 'b4' }])
})

void t.test(
  'a snapshot and what follows are the state, whatever is written meanwhile',
  async (t) => {
    t.comment(`seed ${seed}`)
    const random = seededRandom(seed)
    const below = (limit: number) => randomInteger(random, 0, limit)
    const { server, open } = await start(t)
    const write = async (): Promise<void> => {
      const key = `k/${below(300)}`
      if (below(4) === 0) await server.ask('DELETE', `/v1/kv/${key}`)
      else await server.ask('PUT', `/v1/kv/${key}`, `v${below(1_000)}`)
    }
    for (let at = 0; at < 700; at += 1) {
      await server.ask('PUT', `/v1/kv/k/filler/${at}`, 'x')
    }
    const readers: Promise<Map<string, string>>[] = []
    const writing = new AbortController()
    const writers = [0, 1, 2, 3].map(async () => {
      while (!writing.signal.aborted) await write()
    })
    for (let at = 0; at < 5; at += 1) {
      for (let some = 0; some < 20; some += 1) await write()
      readers.push(follow(await open('topic=KV:k/*&snapshot=true')))
    }
    await Promise.all(readers.map((reader) => Promise.race([reader, settle(server, 100)])))
    writing.abort()
    await Promise.all(writers)
    await server.ask('PUT', '/v1/kv/k/end', 'end')
    const listed = (await server.ask('GET', '/v1/kv/k/?recurse')).json() as {
      Key: string
      Value: string | null
      ModifyIndex: number
    }[]
    const state = new Map(listed.map((row) => [row.Key, `${row.Value} ${row.ModifyIndex}`]))
    for (const reader of readers) t.same(await reader, state)
  },
)

/** Some more writes. */
async function settle(server: ServerOfOne, entries: number): Promise<void> {
  const index = server.machine.appliedIndex + entries
  await eventuallyTrue('more entries', () => server.machine.appliedIndex >= index)
}

/** The state by what a reader is told of it, up to the key `k/end`. Throws when something comes twice or out of order. */
async function follow(frames: FrameReader): Promise<Map<string, string>> {
  const state = new Map<string, string>()
  const apply = (event: Event): void => {
    const { Value, ModifyIndex } = event.Payload['KV'] ?? {}
    if (event.Type === 'KVDeleted') {
      if (!state.delete(event.Key)) throw new Error(`${event.Key} was not there to be deleted`)
    } else state.set(event.Key, `${String(Value)} ${String(ModifyIndex)}`)
  }
  let told = 0
  let whole = false
  for (;;) {
    const frame = await frames.next()
    const { Index = 0, Events = [] } = frame ?? {}
    if (frame === null || frame.Error !== undefined) throw new Error(JSON.stringify(frame))
    if (frame.EndOfSnapshot === true) {
      whole = true
    } else if (whole) {
      if (Index <= told) throw new Error(`${Index} after ${told}`)
    } else if (frame.Snapshot !== true || (told !== 0 && Index !== told)) {
      throw new Error(`a snapshot is of one index: ${Index} after ${told}`)
    }
    told = Index
    for (const event of Events) {
      if (event.Index > Index) throw new Error('an event is of its frame or before')
      apply(event)
    }
    if (state.has('k/end')) return state
  }
}

void t.test('a reader that falls behind is told up to where it was told all', async (t) => {
  const { open, put, server } = await start(t, { events: { eventsMax: 256 } })
  const frames = await open('topic=KV&index=now')
  const first = await put('first')
  t.match(await frames.next(), { Index: first })
  // More than all buffers on the way take: some 70 KB each.
  const Value = Buffer.alloc(512).toString('base64')
  const operations = Array.from({ length: 64 }, (_, at) => ({
    KV: { Verb: 'set', Key: `k${at}`, Value },
  }))
  for (let flags = 1; flags <= 300; flags += 1) {
    const body = operations.map(({ KV }) => ({ KV: { ...KV, Flags: flags } }))
    t.equal((await server.ask('PUT', '/v1/txn', body)).status, 200)
  }
  let told = first
  for (;;) {
    const frame = await frames.next()
    if (frame === null) throw new Error('the last frame says why')
    if (frame.Error !== undefined) {
      t.match(frame.Error, /^events of index \d+ are not kept any more.*snapshot=true$/)
      t.equal(frame.Index, told)
      break
    }
    if (frame.Index !== told + 1) throw new Error(`${frame.Index} after ${told}`)
    told = frame.Index
  }
  t.equal(await frames.nextOfAll(), null, 'and the stream is over')
})

void t.test('a server that stops says so, and where to go on', async (t) => {
  const { open, put, server } = await start(t)
  const frames = await open('topic=KV&index=now')
  const index = await put('a')
  await frames.next()
  server.drain()
  t.same(await frames.next(), { Error: 'this server stops', Index: index })
  t.equal(await frames.nextOfAll(), null)
})

void t.test('a restored state ends streams: what they know of may be gone', async (t) => {
  const { open, put, server } = await start(t)
  await put('a')
  const archive = (await server.ask('GET', '/v1/operator/snapshot')).bytes
  const frames = await open('topic=KV&index=now')
  await put('b')
  await frames.next()
  t.equal((await server.ask('PUT', '/v1/operator/snapshot', archive)).status, 200)
  t.match((await frames.next())?.Error, /not kept any more/)
  t.equal(await frames.nextOfAll(), null)
  const again = await open('topic=KV&snapshot')
  t.match(await again.events(), [{ Key: 'a' }])
})

void t.test('readers are counted, and noticed when they leave', async (t) => {
  const { open, server } = await start(t, { events: { readersMax: 2 } })
  const first = await open('topic=KV')
  await open('topic=KV')
  const refused = await server.open('/v1/event/stream?topic=KV')
  t.equal(refused.status, 503)
  refused.body.destroy()
  first.close()
  await eventuallyTrue('there is room again', async () => {
    const { status, body } = await server.open('/v1/event/stream?topic=KV')
    body.destroy()
    return status === 200
  })
})

void t.test('over WebSocket each frame is a message', async (t) => {
  const { server, put } = await start(t)
  const first = await put('a')
  const second = await put('b')
  const socket = new WebSocket(
    `ws://${await server.address()}/v1/event/stream?topic=KV&index=${first}`,
  )
  t.teardown(() => socket.close())
  const messages: Frame[] = []
  socket.addEventListener('message', ({ data }) => {
    messages.push(JSON.parse(String(data)) as Frame)
  })
  await eventuallyTrue('both', () => messages.length >= 2)
  t.match(messages.slice(0, 2), [
    { Index: first, Events: [{ Key: 'a' }] },
    { Index: second, Events: [{ Key: 'b' }] },
  ])
  const closed = once(socket, 'close')
  server.drain()
  await closed
  t.match(messages.at(-1), { Error: 'this server stops', Index: second })
})

void t.test('heartbeats tell how far the reader is, to those who ask', async (t) => {
  const { open, put } = await start(t)
  const index = await put('a')
  const frames = await open('topic=Node&progress=true')
  t.same(await frames.nextOfAll(), { Index: index })
})

void t.test('what cannot be understood is refused', async (t) => {
  const { server } = await start(t)
  const table: [query: string, text: RegExp][] = [
    ['topic=Jobs', /^topics are ACLToken.* and \*, not "Jobs"$/],
    ['index=-1', /index/],
    ['index=soon', /index/],
    ['snapshot=maybe', /snapshot/],
    ['namespace=a%20b', /namespace/],
    [`topic=KV:${'k'.repeat(4_001)}`, /4000 characters/],
    ['topic=KV&'.repeat(65), /64 topics/],
  ]
  for (const [query, text] of table) {
    const { status, body } = await server.open(`/v1/event/stream?${query}`)
    t.equal(status, 400, query)
    t.match(String(await body.toArray()), text)
  }
})
