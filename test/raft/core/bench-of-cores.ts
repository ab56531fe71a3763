/**
 * A few cores on a table: messages are delivered when the test says so, disks write when the test says so.
 * For rules of the protocol, one at a time; whole histories belong to the simulator.
 */
import { RaftCore } from '../../../src/raft/core/core.ts'
import type { CoreStart } from '../../../src/raft/core/start.ts'
import { encodeConfiguration } from '../../../src/raft/core/membership.ts'
import type {
  Configuration,
  Entry,
  LogIndex,
  Message,
  ServerId,
} from '../../../src/raft/core/message.ts'
import type { Forgetful, Persist, ReadResult } from '../../../src/raft/core/ready.ts'
import type { CoreOptions } from '../../../src/raft/core/state.ts'
import { seededRandom } from '../../../src/lib/random.ts'

export const electionMs = 1_000

const options: CoreOptions = {
  electionMs,
  adaptive: null,
  heartbeatMs: 100,
  leaseReads: false,
  appendBytesMax: 1 << 20,
  inflightMessagesMax: 8,
  inflightBytesMax: 1 << 20,
  uncommittedBytesMax: 1 << 20,
  cacheBytesMax: 1 << 20,
  random: seededRandom(1),
}

export type Seat = {
  readonly core: RaftCore
  /** Writes that the disk was asked for and did not do yet. */
  disk: Persist[]
  /** A stalled disk keeps them until `sync`. */
  stalled: boolean
  reads: ReadResult[]
  /** Whom it offered a snapshot. */
  readonly snapshots: ServerId[]
}

export type CoresOptions = Partial<CoreOptions> & {
  readonly learners?: readonly ServerId[]
  /** Of these the configuration says no lease reads, whatever it says of the others. */
  readonly softVoters?: readonly ServerId[]
  /** What a server has on its disk, where that is not the first configuration alone. */
  readonly startOf?: (id: ServerId) => Partial<CoreStart>
}

export class Cores {
  readonly seats = new Map<ServerId, Seat>()
  now = 0
  /** Messages that left and did not arrive yet. */
  mail: Message[] = []
  readonly cut = new Set<string>()
  readonly forgetful: Forgetful[] = []
  readonly #options: CoreOptions
  /** Messages lose what programs of earlier versions do not write. */
  forgetPromises = false
  forgetAsking = false

  constructor(ids: readonly ServerId[], changed: CoresOptions = {}) {
    const { learners = [], softVoters = [], startOf = () => ({}), ...core } = changed
    this.#options = { ...options, ...core }
    const configuration: Configuration = {
      clusterId: 'c',
      members: ids.map((id) => ({
        id,
        name: id,
        address: `${id}:1`,
        role: learners.includes(id) ? 'learner' : 'voter',
      })),
    }
    const first: Entry = {
      index: 1,
      term: 1,
      kind: 'configuration',
      data: encodeConfiguration(configuration),
    }
    for (const id of ids) {
      this.seats.set(id, {
        core: new RaftCore(
          id,
          { ...options, ...core, ...(softVoters.includes(id) && { leaseReads: false }) },
          {
            base: { index: 0, term: 0 },
            lastIndex: 1,
            termRuns: [{ term: 1, firstIndex: 1 }],
            tail: [first],
            hardState: { term: 1, votedFor: null, commitIndex: 1 },
            appliedIndex: 0,
            configuration: { clusterId: '', members: [] },
            configurationIndex: 0,
            configurations: [first],
            ...startOf(id),
          },
          0,
        ),
        disk: [],
        stalled: false,
        reads: [],
        snapshots: [],
      })
    }
  }

  seat(id: ServerId): Seat {
    const seat = this.seats.get(id)
    if (seat === undefined) throw new Error(`no core ${id}`)
    return seat
  }

  core(id: ServerId): RaftCore {
    return this.seat(id).core
  }

  /** Takes what one core has to say and lets its disk write, unless it stalls. Whether there was something to write. */
  turn(id: ServerId): boolean {
    const seat = this.seat(id)
    const ready = seat.core.takeReady(this.now)
    this.mail.push(...ready.send)
    seat.reads.push(...ready.reads)
    seat.snapshots.push(...ready.snapshots)
    this.forgetful.push(...ready.forgetful)
    if (ready.persist !== null) seat.disk.push(ready.persist)
    if (!seat.stalled) this.sync(id)
    return ready.persist !== null
  }

  /** Starts it anew with less of its log than it had. */
  setBack(id: ServerId, lastIndex: LogIndex): void {
    const seat = this.seat(id)
    const { log, term } = seat.core
    const tail = log.slice(1, lastIndex, Infinity) ?? []
    const starts = tail.filter(({ index }) => log.termAt(index) !== log.termAt(index - 1))
    const core = new RaftCore(
      id,
      this.#options,
      {
        base: { index: 0, term: 0 },
        lastIndex,
        termRuns: starts.map(({ index, term }) => ({ term, firstIndex: index })),
        tail,
        hardState: { term, votedFor: null, commitIndex: 1 },
        appliedIndex: 0,
        configuration: { clusterId: '', members: [] },
        configurationIndex: 0,
        configurations: tail.filter(({ kind }) => kind === 'configuration'),
      },
      this.now,
    )
    this.seats.set(id, { ...seat, core, disk: [] })
  }

  sync(id: ServerId): void {
    const seat = this.seat(id)
    for (const unit of seat.disk.splice(0)) {
      this.mail.push(...unit.afterwards)
      seat.core.persisted(unit.sequence, this.now)
    }
  }

  /** Delivers until nothing moves. Cut links lose what is sent on them. */
  settle(): void {
    for (let i = 0; i < 1_000; i += 1) {
      const wrote = [...this.seats.keys()].map((id) => this.turn(id)).includes(true)
      if (this.mail.length === 0 && !wrote) return
      this.deliverAll()
    }
    throw new Error('the cores talk for ever')
  }

  deliverAll(): void {
    for (const message of this.mail.splice(0)) this.deliver(message)
  }

  deliver(message: Message): void {
    if (this.cut.has(`${message.from}>${message.to}`)) return
    const {
      promiseMs: _,
      firm: __,
      asksPromise: ___,
      ...rest
    } = {
      promiseMs: 0,
      firm: false,
      asksPromise: true,
      ...message,
    }
    const isAnswer = 'promiseMs' in message
    const forgets = isAnswer ? this.forgetPromises : this.forgetAsking
    this.seats.get(message.to)?.core.message(forgets ? rest : message, this.now)
  }

  isolate(id: ServerId): void {
    for (const other of this.seats.keys()) {
      this.cut.add(`${id}>${other}`)
      this.cut.add(`${other}>${id}`)
    }
  }

  heal(): void {
    this.cut.clear()
  }

  /** Time passes for everybody, in steps of a heartbeat. */
  pass(ms: number): void {
    for (const end = this.now + ms; this.now < end;) {
      this.now += 50
      for (const { core } of this.seats.values()) core.tick(this.now, false)
      this.settle()
    }
  }

  /** Makes `id` the leader through an ordinary election: it alone gets to ask. */
  elect(id: ServerId): void {
    const others = [...this.seats.keys()].filter((other) => other !== id)
    for (let i = 0; i < 200; i += 1) {
      this.now += 50
      this.core(id).tick(this.now, false)
      this.settle()
      if (this.core(id).role === 'leader') return
    }
    throw new Error(`${id} was not elected against ${others.join()}`)
  }

  /** Lets the others go on without `lost`; how long they are without a leader, an election timeout at most. */
  replace(lost: ServerId): number {
    const since = this.now
    const others = [...this.seats].filter(([id]) => id !== lost).map(([, { core }]) => core)
    while (!others.some(({ role }) => role === 'leader') && this.now - since < electionMs) {
      this.now += 10
      for (const core of others) core.tick(this.now, false)
      this.settle()
    }
    return this.now - since
  }

  leaders(): ServerId[] {
    return [...this.seats].filter(([, { core }]) => core.role === 'leader').map(([id]) => id)
  }

  propose(id: ServerId, text: string): number {
    const result = this.core(id).propose(new TextEncoder().encode(text), this.now)
    if (!result.ok) throw new Error(result.refusal.text)
    return result.index
  }
}
