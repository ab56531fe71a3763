/**
 * Clients contend for one lock while leaders are killed, paused and cut off. By the history of all of them: no two
 * hold it at a time, each holder has a higher LockIndex than the one before, and what a former holder writes under
 * its LockIndex is refused.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { seededRandom, type Random } from '../../src/lib/random.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { Locks } from '../support/locks.ts'

const ttlMs = 10_000
const contenders = 4
const faultMs = 1_800
const calmMs = 700
const seed = 4

/** One time that a client held the lock, by the test's clock. */
type Holding = {
  readonly client: number
  readonly session: string
  readonly lockIndex: number
  readonly askedMs: number
  readonly grantedMs: number
  /** Until when it may count on it: it let go, or its session was not renewed in time. */
  untilMs: number
}

type FencedWrite = { readonly lockIndex: number; readonly askedMs: number; readonly doneMs: number }

class History {
  readonly holdings: Holding[] = []
  readonly writes: FencedWrite[] = []
  /** Writes under a LockIndex that a later holder had surpassed before they were sent. */
  stale = 0
  readonly failures: string[] = []

  highest(): number {
    return Math.max(0, ...this.holdings.map(({ lockIndex }) => lockIndex))
  }
}

class Contender {
  readonly #client: number
  readonly #locks: Locks
  readonly #history: History
  readonly #random: Random
  readonly #signal: AbortSignal
  #session: string | null = null
  /** When the last acknowledged renewal was sent: its session lives for its time from there at the least. */
  #aliveFromMs = 0
  #renewAt = 0

  constructor(
    client: number,
    cluster: Cluster,
    history: History,
    random: Random,
    signal: AbortSignal,
  ) {
    this.#client = client
    this.#locks = new Locks(cluster, client % cluster.size, signal)
    this.#history = history
    this.#random = random
    this.#signal = signal
  }

  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      await this.#turn().catch((error: unknown) => {
        if (!this.#signal.aborted) throw error
      })
    }
  }

  async #turn(): Promise<void> {
    const session = await this.#living()
    const askedMs = performance.now()
    const lockIndex = await this.#locks.acquire('lock', session)
    if (lockIndex === null) {
      await delay(30 + this.#random.next() * 60)
      return
    }
    const holding: Holding = {
      client: this.#client,
      session,
      lockIndex,
      askedMs,
      grantedMs: performance.now(),
      untilMs: this.#aliveFromMs + ttlMs,
    }
    this.#history.holdings.push(holding)
    await this.#work(holding)
  }

  async #work(holding: Holding): Promise<void> {
    const { lockIndex, session } = holding
    for (let round = 0; round < 3; round += 1) {
      await this.#write(lockIndex, holding)
      await delay(this.#random.next() * 80)
    }
    // Most let go; some go away with their session.
    holding.untilMs = Math.min(performance.now(), this.#aliveFromMs + ttlMs)
    if (this.#random.next() < 0.3) {
      this.#session = null
      await this.#locks.destroy(session)
    } else {
      await this.#locks.release('lock', session)
    }
    await eventually('somebody else holds it', () =>
      this.#signal.aborted || this.#history.highest() > lockIndex ? true : undefined,
    )
    await this.#write(lockIndex, holding)
  }

  async #write(lockIndex: number, { untilMs }: Holding): Promise<void> {
    const surpassed = this.#history.highest() > lockIndex
    const askedMs = performance.now()
    const value = `${lockIndex} by ${this.#client}`
    const outcome = await this.#locks.write('data', value, 'lock', lockIndex)
    const doneMs = performance.now()
    if (outcome === 'written') {
      this.#history.writes.push({ lockIndex, askedMs, doneMs })
      if (surpassed) {
        this.#history.failures.push(`a write under LockIndex ${lockIndex} came after a higher one`)
      }
    } else if (surpassed) {
      this.#history.stale += 1
    } else if (doneMs < Math.min(untilMs, this.#aliveFromMs + ttlMs)) {
      this.#history.failures.push(`a holder's write under LockIndex ${lockIndex} was refused`)
    }
  }

  /** A session that has some time left. */
  async #living(): Promise<string> {
    if (this.#session !== null && performance.now() < this.#renewAt) return this.#session
    const renewed = this.#session === null ? null : await this.#locks.renew(this.#session)
    if (renewed === null) {
      // Alive from its creation on, which was acknowledged after it was sent.
      const sentMs = performance.now()
      this.#session = await this.#locks.create({ TTL: '10s', NodeChecks: [], LockDelay: '50ms' })
      this.#aliveFromMs = sentMs
    } else {
      this.#aliveFromMs = renewed.sentMs
    }
    this.#renewAt = performance.now() + ttlMs / 10
    if (this.#session === null) throw new Error('there is a session by now')
    return this.#session
  }
}

void t.test('one holder at a time, each with a higher LockIndex', async (t) => {
  const cluster = await startCluster(t, { proxies: true })
  await eventually('a session can be made', async () => {
    const made = await cluster.http(0).request('PUT', '/v1/session/create', {
      body: JSON.stringify({ NodeChecks: [], TTL: '10s' }),
    })
    return made.status === 200 ? true : undefined
  })
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const history = new History()
  const over = new AbortController()
  const clients = Array.from(
    { length: contenders },
    (_, client) => new Contender(client, cluster, history, random, over.signal),
  )
  const running = Promise.all(clients.map((client) => client.run()))
  running.catch(() => {})
  const faults: ((leader: number) => Promise<void>)[] = [
    async (leader) => {
      await cluster.kill(leader)
      await delay(faultMs)
      await cluster.restart(leader)
    },
    async (leader) => {
      cluster.pause(leader)
      await delay(faultMs)
      cluster.resume(leader)
    },
    async (leader) => {
      await cluster.network.isolate(leader)
      await delay(faultMs)
      await cluster.network.heal()
    },
  ]
  for (const fault of faults) {
    await delay(calmMs)
    await fault(await cluster.waitForLeader())
    await cluster.waitForLeader()
  }
  const held = history.holdings.length
  await eventually('the lock goes on from hand to hand', () =>
    history.holdings.length > held + 3 ? true : undefined,
  )
  over.abort()
  await running

  const { holdings, writes, failures } = history
  t.same(failures, [])
  const byIndex = holdings.toSorted((left, right) => left.lockIndex - right.lockIndex)
  for (const [position, later] of byIndex.entries()) {
    const earlier = byIndex[position - 1]
    if (earlier === undefined) continue
    const text = `${earlier.lockIndex} (client ${earlier.client}), then ${later.lockIndex} (client ${later.client})`
    t.ok(earlier.lockIndex < later.lockIndex, `each LockIndex is granted once: ${text}`)
    t.ok(earlier.askedMs < later.grantedMs, `LockIndexes grow with time: ${text}`)
    t.ok(earlier.untilMs <= later.grantedMs, `never two holders: ${text}`)
  }
  for (const [position, later] of writes.entries()) {
    const before = writes.slice(0, position).filter(({ doneMs }) => doneMs < later.askedMs)
    const highest = Math.max(0, ...before.map(({ lockIndex }) => lockIndex))
    t.ok(highest <= later.lockIndex, `no write after one under a higher LockIndex: ${highest}`)
  }
  t.comment(
    `${holdings.length} holdings, ${writes.length} fenced writes, ${history.stale} refused as stale`,
  )
  t.ok(history.stale > 0, 'former holders tried to write')
})
