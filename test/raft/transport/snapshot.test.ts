import t from 'tap'
import { MusterError } from '../../../src/lib/errors.ts'
import type { SnapshotSink } from '../../../src/raft/transport/transport.ts'
import { Proxy } from '../../wire/proxy.ts'
import { until } from '../../wire/until.ts'
import { Node, type NodeSpec } from './node.ts'
import { chunkBytes, sourceOf, Staging } from './staging.ts'

const never = new AbortController().signal

t.test('a snapshot arrives whole, at both versions and across them', async (t) => {
  for (const [sender, receiver, agreed] of [
    [2, 2, 2],
    [2, 1, 1],
    [1, 2, 1],
  ] as const) {
    const a = await new Node({ id: 'a', versions: { min: 1, max: sender } }).start(t)
    const staging = new Staging()
    const b = await receiverOf(staging, { versions: { min: 1, max: receiver } }).start(t)
    const proxy = new Proxy(b.port)
    const port = await proxy.listen()
    t.teardown(() => proxy.close())
    a.peer({ id: 'b', port })
    const source = sourceOf(20)
    await a.transport.sendSnapshot('b', 4, source, never)
    t.equal(a.wire.peerVersion('b'), agreed)
    t.equal(staging.finished, source.sha256)
    t.same(b.snapshots, [{ from: 'a', term: 4, index: 77 }])
    const bytes = 20 * chunkBytes
    if (agreed === 2) t.ok(proxy.forwarded < bytes / 2, 'compressed')
    else t.ok(proxy.forwarded > bytes, 'plain')
  }
})

t.test('after a cut in the middle it goes on where it stopped', async (t) => {
  const a = await new Node({ id: 'a', versions: { min: 1, max: 1 } }).start(t)
  const staging = new Staging()
  const b = await receiverOf(staging).start(t)
  const proxy = new Proxy(b.port)
  const port = await proxy.listen()
  t.teardown(() => proxy.close())
  let cuts = 0
  proxy.onForward = (forwarded) => {
    if (forwarded < (cuts + 1) * 5 * chunkBytes || cuts === 3) return
    cuts += 1
    proxy.cut()
  }
  a.peer({ id: 'b', port })
  const source = sourceOf(30)
  await a.transport.sendSnapshot('b', 4, source, never)
  t.equal(cuts, 3)
  t.equal(staging.finished, source.sha256)
  t.equal(staging.chunks.length, 30)
  t.ok(staging.offers > 1)
  t.ok(proxy.forwarded < 45 * chunkBytes, 'and did not begin again each time')
})

t.test(
  'the digest is right when the receiver lost what it held, or held some before',
  async (t) => {
    const a = await new Node({ id: 'a' }).start(t)
    const staging = new Staging()
    const b = await receiverOf(staging).start(t)
    a.peer(b)
    const source = sourceOf(12)
    for await (const chunk of source.chunks(0)) {
      staging.chunks.push(Buffer.from(chunk))
      if (staging.chunks.length === 5) break
    }
    staging.id = source.id
    staging.beforeWrite = () => {
      if (staging.chunks.length !== 9) return
      staging.beforeWrite = () => {}
      staging.chunks = []
      throw new Error('the disk lost what was staged')
    }
    await a.transport.sendSnapshot('b', 4, source, never)
    t.equal(staging.finished, source.sha256)
    t.equal(staging.chunks.length, 12)
  },
)

t.test('a refusal reaches the sender, at the offer and at the end', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const onSnapshotOffer = (): Promise<SnapshotSink> =>
    Promise.reject(new MusterError('conflict', 'the offer is of an old term'))
  const unwilling = await new Node({ id: 'b', onSnapshotOffer }).start(t)
  const staging = new Staging()
  staging.failFinish = true
  const failing = await receiverOf(staging, { id: 'c' }).start(t)
  a.peer(unwilling, failing)
  await t.rejects(a.transport.sendSnapshot('b', 1, sourceOf(2), never), {
    code: 'conflict',
    message: /server b refused the snapshot: the offer is of an old term/,
  })
  await t.rejects(a.transport.sendSnapshot('c', 1, sourceOf(2), never), { code: 'corrupt' })
  t.same([unwilling.snapshots, failing.snapshots], [[], []])
})

t.test('a later offer voids the earlier, which then starts over and is refused', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const c = await new Node({ id: 'c' }).start(t)
  const first = new Staging()
  const second = new Staging()
  let highest = 0
  let hold: () => void = () => {}
  first.beforeWrite = () =>
    new Promise((resolve) => {
      hold = resolve
    })
  const b = await new Node({
    id: 'b',
    onSnapshotOffer: async ({ from, term, id }) => {
      if (term < highest) throw new MusterError('conflict', `term ${term} is over`)
      highest = term
      return (from === 'a' ? first : second).open(id)
    },
  }).start(t)
  a.peer(b)
  c.peer(b)
  const outcome = a.transport.sendSnapshot('b', 1, sourceOf(8), never)
  const refused = t.rejects(outcome, { code: 'conflict', message: /term 1 is over/ })
  await until('the first is being written', () => first.writing)
  const later = c.transport.sendSnapshot('b', 2, sourceOf(8), never)
  hold()
  first.beforeWrite = () => {}
  await later
  await refused
  t.same(b.snapshots, [{ from: 'c', term: 2, index: 77 }])
  t.ok(first.chunks.length < 8)
})

t.test('it ends when it is not wanted, makes no progress, or the transport stops', async (t) => {
  const a = await new Node({ id: 'a', snapshotProgressTimeoutMs: 300 }).start(t)
  const staging = new Staging()
  const b = await receiverOf(staging).start(t)
  const proxy = new Proxy(b.port)
  const port = await proxy.listen()
  t.teardown(() => proxy.close())
  a.peer({ id: 'b', port })

  const abort = new AbortController()
  staging.beforeWrite = () => abort.abort()
  const source = sourceOf(40)
  await t.rejects(a.transport.sendSnapshot('b', 1, source, abort.signal), { code: 'cancelled' })
  t.equal(source.reading, 0, 'the source is not read on')

  staging.beforeWrite = () => {
    if (staging.chunks.length > 2) proxy.blackHole(true)
  }
  await t.rejects(a.transport.sendSnapshot('b', 1, sourceOf(40), never), {
    code: 'timeout',
    message: /no progress/,
  })

  proxy.blackHole(false)
  staging.beforeWrite = () => {
    void a.transport.stop()
  }
  await t.rejects(a.transport.sendSnapshot('b', 1, sourceOf(40), never), { code: 'cancelled' })
  await t.rejects(a.transport.sendSnapshot('b', 1, sourceOf(1), never), { code: 'cancelled' })
})

function receiverOf(staging: Staging, spec: Partial<NodeSpec> = {}): Node {
  return new Node({ id: 'b', onSnapshotOffer: async ({ id }) => staging.open(id), ...spec })
}
