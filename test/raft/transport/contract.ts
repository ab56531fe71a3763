/** The suite of the contract `RaftTransport`: on sockets and in the simulator, whose proof is worth as much as the two are alike. */
import type { Test } from 'tap'
import { MusterError } from '../../../src/lib/errors.ts'
import type { Message } from '../../../src/raft/core/message.ts'
import type { RaftTransport, TransportHandlers } from '../../../src/raft/transport/transport.ts'
import { roundsOf } from './node.ts'
import { sourceOf, Staging } from './staging.ts'

/** One server's transport, and what its driver has seen of it. */
export class End {
  readonly transport: RaftTransport
  readonly messages: Message[] = []
  readonly connectedTo: string[] = []
  /** What was staged by the time it was told. */
  readonly received: { from: string; term: number; index: number; staged: string }[] = []
  readonly staging = new Staging()
  highestTerm = 0

  constructor(transport: RaftTransport) {
    this.transport = transport
  }

  readonly handlers: TransportHandlers = {
    onMessage: (message) => this.messages.push(message),
    onPeerGone: () => {},
    onPeerConnected: (id) => this.connectedTo.push(id),
    onSnapshotOffer: async ({ id, term }) => {
      if (term < this.highestTerm) throw new MusterError('conflict', `term ${term} is over`)
      this.highestTerm = term
      return this.staging.open(id)
    },
    onSnapshotReceived: ({ from, term, meta }) =>
      this.received.push({ from, term, index: meta.index, staged: this.staging.finished }),
  }
}

export type Subject = {
  /** Two servers that are peers of each other and run. */
  readonly a: End
  readonly b: End
  /** Lets time pass until this holds. */
  readonly until: (what: string, holds: () => boolean) => Promise<void>
}

const never = new AbortController().signal
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

function heartbeat(from: string, to: string, round: number): Message {
  return { type: 'heartbeat', from, to, term: 1, commitIndex: 0, round }
}

function entries(from: string, to: string, round: number, bytes: number): Message {
  const data = Buffer.alloc(bytes, round)
  const entry = { index: 1, term: 1, kind: 'command' as const, data }
  const envelope = { from, to, term: 1, commitIndex: 0, round, prevIndex: 0, prevTerm: 0 }
  return { type: 'appendRequest', ...envelope, entries: [entry] }
}

export async function raftTransportContract(
  t: Test,
  name: string,
  subject: (t: Test) => Promise<Subject>,
): Promise<void> {
  const holds = (sentence: string, check: (t: Test, subject: Subject) => Promise<void>) =>
    t.test(`${name}: ${sentence}`, async (t) => {
      const ends = await subject(t)
      const { a, b } = ends
      await ends.until('each is told that the other is there', () => {
        return a.connectedTo.includes('b') && b.connectedTo.includes('a')
      })
      await check(t, ends)
    })
  /** What became of a snapshot that was sent, once something did. */
  const outcomeOf = async ({ until }: Subject, sending: Promise<void>): Promise<string> => {
    let outcome: string | null = null
    sending.then(
      () => (outcome = 'sent'),
      (error: unknown) => (outcome = error instanceof MusterError ? error.code : String(error)),
    )
    await until('the snapshot is sent, or is not', () => outcome !== null)
    return outcome ?? 'nothing'
  }

  await holds('messages arrive whole and in order, and answers come back', async (t, ends) => {
    const { a, b, until } = ends
    const sent = upTo(100).map((n) =>
      n % 10 === 0 ? entries('a', 'b', n, 50_000) : heartbeat('a', 'b', n),
    )
    for (const message of sent) a.transport.send(message)
    await until('all are there', () => b.messages.length >= sent.length)
    t.same(roundsOf(b.messages), upTo(100))
    t.same(b.messages, sent)
    b.transport.send(heartbeat('b', 'a', 7))
    await until('the answer is there', () => a.messages.length > 0)
    t.same(a.messages, [heartbeat('b', 'a', 7)])
  })

  await holds('a message to a server that is not there is dropped', async (t, ends) => {
    const { a, b, until } = ends
    t.doesNotThrow(() => a.transport.send(heartbeat('a', 'nobody', 1)))
    a.transport.send(heartbeat('a', 'b', 2))
    await until('the next one is there', () => b.messages.length > 0)
    t.same(roundsOf(b.messages), [2])
  })

  await holds('after its stop it sends nothing and hears nothing', async (t, ends) => {
    const { a, b, until } = ends
    await b.transport.stop()
    t.doesNotThrow(() => b.transport.send(heartbeat('b', 'a', 1)))
    for (const n of upTo(20)) a.transport.send(heartbeat('a', 'b', n))
    const outcome = await outcomeOf(ends, b.transport.sendSnapshot('a', 1, sourceOf(1), never))
    t.not(outcome, 'sent')
    await until('time passes', () => true)
    t.same([a.messages, b.messages, a.received], [[], [], []])
  })

  await holds('a snapshot is staged whole before it is told', async (t, ends) => {
    const source = sourceOf(12)
    const sending = ends.a.transport.sendSnapshot('b', 4, source, never)
    t.equal(await outcomeOf(ends, sending), 'sent')
    t.same(ends.b.received, [{ from: 'a', term: 4, index: 77, staged: source.sha256 }])
    t.equal(ends.b.staging.chunks.length, 12)
  })

  await holds('a receiver that has some chunks gets the others', async (t, ends) => {
    const { staging } = ends.b
    const source = sourceOf(6)
    staging.open(source.id)
    for await (const chunk of source.chunks(0)) {
      staging.chunks.push(Buffer.from(chunk))
      if (staging.chunks.length === 4) break
    }
    let written = 0
    staging.beforeWrite = () => {
      written += 1
    }
    t.equal(await outcomeOf(ends, ends.a.transport.sendSnapshot('b', 4, source, never)), 'sent')
    t.equal(written, 2)
    t.equal(staging.finished, source.sha256)
  })

  await holds('a write that fails is no refusal: the rest is sent again', async (t, ends) => {
    const { staging } = ends.b
    staging.beforeWrite = () => {
      if (staging.chunks.length !== 3) return
      staging.beforeWrite = () => {}
      throw Object.assign(new Error('no space is left'), { code: 'ENOSPC' })
    }
    const source = sourceOf(6)
    t.equal(await outcomeOf(ends, ends.a.transport.sendSnapshot('b', 4, source, never)), 'sent')
    t.equal(staging.finished, source.sha256)
    t.ok(staging.offers > 1, 'it was offered again')
  })

  await holds('a refusal is the sender’s error, with its code, at the offer', async (t, ends) => {
    ends.b.highestTerm = 9
    const sending = ends.a.transport.sendSnapshot('b', 8, sourceOf(2), never)
    t.equal(await outcomeOf(ends, sending), 'conflict')
    t.same([ends.b.received, ends.b.staging.offers], [[], 0])
  })

  await holds('and at the end', async (t, ends) => {
    ends.b.staging.failFinish = true
    const sending = ends.a.transport.sendSnapshot('b', 8, sourceOf(2), never)
    t.equal(await outcomeOf(ends, sending), 'corrupt')
    t.same(ends.b.received, [])
  })

  await holds('a later offer voids the earlier, which is refused in the end', async (t, ends) => {
    const { staging } = ends.b
    let later: Promise<void> | null = null
    const second = sourceOf(5)
    staging.beforeWrite = () => {
      later ??= ends.a.transport.sendSnapshot('b', 2, second, never)
    }
    const first = ends.a.transport.sendSnapshot('b', 1, sourceOf(40), never)
    t.equal(await outcomeOf(ends, first), 'conflict')
    t.equal(await outcomeOf(ends, later ?? Promise.reject(new Error('not sent'))), 'sent')
    t.same(ends.b.received, [{ from: 'a', term: 2, index: 77, staged: second.sha256 }])
  })

  await holds('a snapshot that is not wanted any more is cancelled', async (t, ends) => {
    const abort = new AbortController()
    ends.b.staging.beforeWrite = () => abort.abort()
    const sending = ends.a.transport.sendSnapshot('b', 1, sourceOf(40), abort.signal)
    t.equal(await outcomeOf(ends, sending), 'cancelled')
    t.ok(ends.b.staging.chunks.length < 40)
    t.same(ends.b.received, [])
  })

  await holds('without progress it is given up', async (t, ends) => {
    ends.b.staging.beforeWrite = () => {
      throw new Error('the disk takes nothing')
    }
    const sending = ends.a.transport.sendSnapshot('b', 1, sourceOf(3), never)
    t.equal(await outcomeOf(ends, sending), 'timeout')
    t.same(ends.b.received, [])
  })
}
