/**
 * Cores on a table, as a script moves them: each input is followed by all that it causes, and every message, write and
 * change is told in order. Messages are delivered first in, first out; a disk writes at once unless it is stalled; time
 * passes from one deadline to the next. So a script has one conversation, on every machine.
 */
import { RaftCore } from '../../../src/raft/core/core.ts'
import type { ProposeResult } from '../../../src/raft/core/leader.ts'
import { type Change, encodeConfiguration } from '../../../src/raft/core/membership.ts'
import type {
  Configuration,
  Entry,
  Member,
  Message,
  ServerId,
} from '../../../src/raft/core/message.ts'
import type { Persist, Ready } from '../../../src/raft/core/ready.ts'
import { changesText, messageText, shownOf, statusText, writeText } from './words.ts'

export const electionMs = 1_000
const heartbeatMs = 100
/** A conversation that does not end is a defect. */
const messagesMax = 2_000

type Seat = {
  readonly core: RaftCore
  readonly disk: Persist[]
  stalled: boolean
  appliedIndex: number
  /** What its next random draw gives. */
  draw: number
}

export type TableOptions = {
  readonly learners: readonly ServerId[]
  readonly leaseReads: boolean
  /** Servers whose log is empty: no configuration names them yet. */
  readonly newcomers: readonly ServerId[]
  /** Share of the range of timeouts, by server; absent: by its place, the first is the first to lose patience. */
  readonly draws: ReadonlyMap<ServerId, number>
}

type SeatOptions = {
  readonly tail: readonly Entry[]
  readonly leaseReads: boolean
  readonly draw: number
}

export function memberOf(id: ServerId, role: Member['role'] = 'voter'): Member {
  return { id, name: id, address: `${id}:1`, role }
}

export class Table {
  readonly #seats = new Map<ServerId, Seat>()
  readonly #told: string[] = []
  readonly #cut = new Set<string>()
  #mail: Message[] = []
  #now = 0
  #quiet = false
  #reads = 0

  constructor(ids: readonly ServerId[], options: TableOptions) {
    const { learners, leaseReads, newcomers, draws } = options
    const configuration: Configuration = {
      clusterId: 'c',
      members: ids.map((id) => memberOf(id, learners.includes(id) ? 'learner' : 'voter')),
    }
    const data = encodeConfiguration(configuration)
    const first: Entry = { index: 1, term: 1, kind: 'configuration', data }
    for (const [at, id] of [...ids, ...newcomers].entries()) {
      const tail = newcomers.includes(id) ? [] : [first]
      const draw = draws.get(id) ?? at * 0.2
      this.#seats.set(id, this.#seatOf(id, { tail, leaseReads, draw }))
    }
  }

  #seatOf(id: ServerId, { tail, leaseReads, draw }: SeatOptions): Seat {
    const known = tail.length
    const core = new RaftCore(
      id,
      {
        electionMs,
        heartbeatMs,
        adaptive: null,
        leaseReads,
        appendBytesMax: 1 << 20,
        inflightMessagesMax: 8,
        inflightBytesMax: 1 << 20,
        uncommittedBytesMax: 1 << 20,
        cacheBytesMax: 1 << 20,
        random: { next: () => this.#seats.get(id)?.draw ?? draw },
      },
      {
        base: { index: 0, term: 0 },
        lastIndex: known,
        termRuns: tail.map(({ term, index }) => ({ term, firstIndex: index })),
        tail,
        hardState: { term: known, votedFor: null, commitIndex: known },
        appliedIndex: known,
        configuration: { clusterId: '', members: [] },
        configurationIndex: 0,
        configurations: tail,
      },
      0,
    )
    return { core, disk: [], stalled: false, appliedIndex: known, draw }
  }

  /** What was told since the last call. */
  takeTold(): string[] {
    return this.#told.splice(0)
  }

  // --- commands ---

  /** Timeouts that `id` draws from now on are this share of their range above the shortest. */
  draws(id: ServerId, share: number): void {
    this.#seat(id).draw = share
  }

  /** From one deadline to the next. `quiet`: messages are not told, changes are. */
  pass(ms: number, quiet: boolean): void {
    this.#quiet = quiet
    const end = this.#now + ms
    for (;;) {
      const deadlines = [...this.#seats.values()].map(({ core }) => core.nextDeadline)
      const next = Math.max(Math.min(...deadlines), this.#now + 1)
      if (next > end) break
      this.#now = next
      const due = [...this.#seats].filter(([, { core }]) => core.nextDeadline <= this.#now)
      // All that are due at this moment look before any message of theirs arrives.
      for (const [id] of due) this.#change(id, (core) => core.tick(this.#now, false))
      for (const [id] of due) this.#turn(id)
      this.#settle()
    }
    this.#now = end
    this.#quiet = false
  }

  propose(id: ServerId, texts: readonly string[]): void {
    this.#input(id, (core) => {
      for (const text of texts) {
        this.#tellRefusal(id, core.propose(new TextEncoder().encode(text), this.#now))
      }
    })
  }

  changeMembers(id: ServerId, change: Change): void {
    this.#input(id, (core) => this.#tellRefusal(id, core.changeMembership(change, this.#now)))
  }

  transfer(id: ServerId, target: ServerId): void {
    this.#input(id, (core) => {
      const refusal = core.transfer(target, this.#now)
      if (refusal !== null) this.#tell(id, `refuses: ${refusal.text}`)
    })
  }

  read(id: ServerId, linearizable: boolean): void {
    this.#reads += 1
    const number = this.#reads
    this.#input(id, (core) => {
      const index = core.readNow(linearizable, this.#now)
      if (index === null) core.read(number, linearizable, this.#now)
      else this.#tell(id, `read ${number} may be answered at ${index}, by its lease`)
    })
  }

  /** The state is on disk up to `index`, and the log lets go of what led there. */
  compact(id: ServerId, index: number): void {
    this.#input(id, (core) => core.compacted(index, core.log.termAt(index) ?? 0, this.#now))
  }

  cut(from: ServerId, to: ServerId): void {
    this.#cut.add(`${from}>${to}`)
  }

  isolate(id: ServerId): void {
    for (const other of this.#seats.keys()) {
      this.cut(id, other)
      this.cut(other, id)
    }
  }

  heal(): void {
    this.#cut.clear()
  }

  stall(id: ServerId): void {
    this.#seat(id).stalled = true
  }

  /** `once`: what waits is written, and what comes stalls again. */
  sync(id: ServerId, once: boolean): void {
    this.#seat(id).stalled = once
    this.#sync(id)
    this.#settle()
  }

  status(ids: readonly ServerId[]): void {
    const asked = ids.length === 0 ? [...this.#seats.keys()] : ids
    for (const id of asked) this.#tell(id, statusText(this.#seat(id).core))
  }

  // --- how it goes on ---

  #seat(id: ServerId): Seat {
    const seat = this.#seats.get(id)
    if (seat === undefined) throw new Error(`there is no server ${id}`)
    return seat
  }

  #tell(who: string, what: string): void {
    this.#told.push(`${who.padEnd(6)} ${what}`)
  }

  #tellRefusal(id: ServerId, result: ProposeResult): void {
    if (!result.ok) this.#tell(id, `refuses: ${result.refusal.text}`)
  }

  #change(id: ServerId, give: (core: RaftCore) => void): void {
    const { core } = this.#seat(id)
    const before = shownOf(core)
    give(core)
    for (const text of changesText(before, shownOf(core))) this.#tell(id, text)
  }

  #input(id: ServerId, give: (core: RaftCore) => void): void {
    this.#change(id, give)
    this.#turn(id)
    this.#settle()
  }

  /** Takes what one core has to say and lets its disk write, unless it stalls. */
  #turn(id: ServerId): void {
    const seat = this.#seat(id)
    let ready: Ready | null = null
    this.#change(id, (core) => {
      ready = core.takeReady(this.#now)
    })
    if (ready !== null) this.#perform(id, seat, ready)
    this.#apply(id, seat)
  }

  #perform(id: ServerId, seat: Seat, { send, reads, persist, snapshots, install, fetches }: Ready) {
    if (fetches.length > 0) throw new Error('a script keeps its entries in memory')
    this.#mail.push(...send)
    for (const { id: number, index } of reads) {
      this.#tell(
        id,
        `read ${number} ${index === null ? 'is refused' : `may be answered at ${index}`}`,
      )
    }
    if (persist !== null) {
      seat.disk.push(persist)
      const text = writeText(persist)
      if (text !== null && !this.#quiet)
        this.#tell(id, seat.stalled ? `${text}: its disk stalls` : text)
      if (!seat.stalled) this.#sync(id)
    }
    if (install !== null) {
      this.#tell(id, `puts the snapshot of ${install.index} in place`)
      seat.appliedIndex = install.index
      this.#input(id, (core) => core.snapshotInstalled(install, this.#now))
    }
    for (const peer of snapshots) this.#sendSnapshot(id, seat, peer)
  }

  #sync(id: ServerId): void {
    const seat = this.#seat(id)
    for (const unit of seat.disk.splice(0)) {
      this.#mail.push(...unit.afterwards)
      this.#change(id, (core) => core.persisted(unit.sequence, this.#now))
    }
    this.#turn(id)
  }

  #apply(id: ServerId, seat: Seat): void {
    const { core } = seat
    if (core.applicableIndex <= seat.appliedIndex) return
    const entries = core.log.slice(seat.appliedIndex + 1, core.applicableIndex, Infinity) ?? []
    seat.appliedIndex = core.applicableIndex
    core.applied(entries, this.#now)
  }

  /** Whole and at once; lost where the way is cut. */
  #sendSnapshot(from: ServerId, { core, appliedIndex }: Seat, to: ServerId): void {
    const isCut = this.#cut.has(`${from}>${to}`)
    this.#tell(
      `${from} → ${to}`,
      `snapshot of ${appliedIndex}, term ${core.term}${isCut ? ': lost' : ''}`,
    )
    const { configuration, index: configurationIndex } = core.membership
    const term = core.log.termAt(appliedIndex) ?? 0
    const meta = { index: appliedIndex, term, configuration, configurationIndex }
    if (!isCut) {
      this.#input(to, (receiver) => receiver.snapshotReceived(from, core.term, meta, this.#now))
    }
    this.#input(from, (sender) => sender.snapshotSent(to, meta.index, !isCut, this.#now))
  }

  #settle(): void {
    for (let count = 0; count < messagesMax; count += 1) {
      const message = this.#mail.shift()
      if (message === undefined) return
      const { from, to } = message
      const isCut = this.#cut.has(`${from}>${to}`)
      const way = `${from} → ${to}`
      if (!this.#quiet) this.#tell(way, `${messageText(message)}${isCut ? ': lost' : ''}`)
      if (isCut) continue
      this.#change(to, (core) => core.message(message, this.#now))
      this.#turn(to)
    }
    throw new Error('the cores talk for ever')
  }
}
