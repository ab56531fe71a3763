/**
 * Brings the judges what they ask for: messages as they leave, entries as they reach a disk or a state machine,
 * and a look at every node after every event.
 */
import { createHash } from 'node:crypto'
import type { Configuration, Message, ServerId } from '../../src/raft/core/message.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { Commits, type Views } from './checkers/commits.ts'
import { AcknowledgedWrites } from './checkers/durability.ts'
import { ElectionSafety } from './checkers/elections.ts'
import { checkLeaderCompleteness, checkRestart, LogMatching } from './checkers/logs.ts'
import { MembershipChanges } from './checkers/membership.ts'
import { Promises } from './checkers/promises.ts'
import type { Report } from './checkers/rule.ts'
import { encodeState, type MachineWatch } from './machine.ts'
import { digestOf, type LogWatch } from './observed-log.ts'
import type { SimServer } from './server.ts'
import type { Trace } from './trace.ts'

/** What judges need of the world they look at. */
export type JudgedWorld = {
  readonly report: Report
  readonly trace: Trace
  readonly servers: ReadonlyMap<ServerId, SimServer>
  count(what: string): void
  delicate(server: SimServer, moment: string): void
  /** Somebody won an election. */
  onElected: () => void
}

export class Judges {
  readonly #world: JudgedWorld
  readonly elections: ElectionSafety
  readonly commits: Commits
  readonly writes: AcknowledgedWrites
  readonly changes: MembershipChanges
  readonly #matching: LogMatching
  readonly #promises: Promises
  /** Server and term of every leader that was looked at. */
  readonly #reigns = new Set<string>()
  /** Of the newest configuration that is surely committed: the first one, or one whose entry was applied. */
  #committedVoters: readonly ServerId[] = []

  constructor(world: JudgedWorld) {
    this.#world = world
    this.elections = new ElectionSafety(world.report)
    this.commits = new Commits(world.report)
    this.writes = new AcknowledgedWrites(world.report)
    this.changes = new MembershipChanges(world.report)
    this.#matching = new LogMatching(world.report)
    this.#promises = new Promises(world.report)
  }

  sent(message: Message): void {
    const { from, to, term, type } = message
    const sender = this.#world.servers.get(from)
    if (sender === undefined) return
    this.#promises.sent(message, sender.image)
    if (type === 'appendRequest' || type === 'heartbeat') this.elections.leads(from, term)
    else if (type === 'voteRequest') this.elections.votes(from, term, from)
    else if (type === 'voteResponse' && message.granted) this.elections.votes(from, term, to)
    else if (type === 'timeoutNow' && message.voted) this.elections.votes(from, term + 1, to)
  }

  /** The cluster begins with it, in the log of one server; the others take it over as committed. */
  bootstrapped(configuration: Configuration): void {
    this.#committedVoters = votersIn(configuration)
  }

  /** After an event, when everything it moved has settled. */
  look(): void {
    for (const server of this.#world.servers.values()) {
      const status = server.status
      if (status === null) continue
      const life = `${server.id}, life ${server.life?.number}`
      this.commits.shows(life, status.commitIndex, status.lastIndex)
      if (status.role === 'leader') this.#lookAtLeader(server, status)
    }
  }

  #lookAtLeader(server: SimServer, status: RaftStatus): void {
    const { id, image } = server
    const { term, commitIndex, lastIndex, configurationIndex } = status
    // Its messages may have told so already; for the judges of logs and members the reign begins here.
    this.elections.leads(id, term)
    const reign = `${id} ${term}`
    if (!this.#reigns.has(reign)) {
      this.#reigns.add(reign)
      this.#world.count('elections')
      this.#world.delicate(server, 'an election')
      this.#world.onElected()
      this.#world.trace.add(() => `${id} leads term ${term}`)
      this.writes.leads(term, lastIndex)
      checkLeaderCompleteness(
        this.#world.report,
        { server: id, term, disk: image },
        this.commits.committed,
      )
    }
    this.commits.leaderShows({ server: id, term, commitIndex }, image.markAt(commitIndex)?.term)
    if (status.settled) this.writes.decides(id, term, status.appliedIndex)
    const voters = votersOf(status)
    this.changes.shows({ server: id, term, commitIndex, lastIndex, configurationIndex, voters })
  }

  machineWatch(server: SimServer): MachineWatch {
    const { id } = server
    return {
      applied: (entry, chain) => {
        if (entry.index > this.commits.highest) this.#world.count('commits')
        const mark = { term: entry.term, digest: digestOf(entry) }
        const term = server.status?.term ?? server.image.term
        this.commits.applied({ server: id, term, chain }, entry.index, mark, () => this.#views())
        if (entry.kind === 'configuration' && entry.index === this.commits.highest) {
          this.#committedVoters = votersIn(decodeConfiguration(entry.data))
        }
      },
      installed: (index, chain) => {
        this.#world.count('snapshots installed')
        this.#world.trace.add(() => `${id} installs a snapshot at ${index}`)
        this.commits.installed(id, index, chain)
        this.#world.delicate(server, 'an install')
      },
      misused: (text) => {
        this.#world.report({
          rule: 'the state machine is used by its contract',
          text: `${id}: ${text}`,
        })
      },
    }
  }

  logWatch(server: SimServer): LogWatch {
    const { id } = server
    return {
      wrote: (index, mark, previousTerm) => this.#matching.wrote(id, index, mark, previousTerm),
      truncated: (from, lastIndex) => {
        if (from > lastIndex) return
        this.#world.count('truncations')
        this.#world.delicate(server, 'a truncation')
      },
      restarted: (snapshot, disk) => {
        if (disk.lastIndex >= snapshot.index) this.#world.count('installs over a conflicting log')
        checkRestart(this.#world.report, id, disk, snapshot)
      },
      compacted: () => this.#world.count('compactions'),
      lost: () => this.#world.count('writes lost or torn'),
      report: this.#world.report,
    }
  }

  /** All is healed and everyone has caught up. */
  atEnd(members: readonly SimServer[]): void {
    const states = new Map<ServerId, { index: number; digest: string }>()
    for (const { id, running } of members) {
      if (running === null) continue
      const { state } = running.machine
      const digest = createHash('sha256').update(encodeState(state)).digest('hex').slice(0, 16)
      states.set(id, { index: state.index, digest })
    }
    this.writes.atEnd(this.commits.committed, states)
  }

  #views(): Views {
    const disks = new Map([...this.#world.servers].map(([id, { image }]) => [id, image]))
    // The entry may have been committed before its leader went on to the next configuration.
    const voterSets = [this.#committedVoters, ...this.changes.voterSetsAbove(this.commits.highest)]
    for (const server of this.#world.servers.values()) {
      const status = server.status
      if (status !== null) voterSets.push(votersOf(status))
    }
    return { disks, voterSets }
  }
}

function votersOf({ configuration }: RaftStatus): ServerId[] {
  return votersIn(configuration)
}

function votersIn({ members }: Configuration): ServerId[] {
  return members.flatMap(({ id, role }) => (role === 'voter' ? [id] : []))
}
