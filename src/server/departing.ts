/**
 * How servers go: by their own word over RPC, by an operator's, or dead and replaced. What gossip says of a server starts
 * nothing here but autopilot's look for dead ones; `removal.ts` has the rules, and a server that answers Raft stays unless it
 * says itself, when the leader asks it at its address, that it leaves.
 */
import { delay } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Member } from '../raft/core/message.ts'
import type { Raft } from '../raft/raft.ts'
import type { Autopilot } from './autopilot.ts'
import { Departures } from './departures.ts'
import {
  nextRemoval,
  obstacleTo,
  type Departure,
  type Obstacle,
  type RemovalView,
} from './removal.ts'
import {
  giveUpMethod,
  identityMethod,
  leaveMethod,
  type CallMember,
  type Left,
} from './peer-methods.ts'
import type { Self } from './self.ts'

/** A server that leaves asks again so often, and goes without an answer after so long. */
const leaveRetryMs = 200
const leaveMs = 3_000

export type DepartingOptions = {
  readonly self: Self
  readonly bootstrapExpect: number
  readonly node: Pick<Raft, 'status' | 'changeMembership'>
  readonly call: CallMember
  /** Gives leadership to another voter. Never rejects. */
  readonly handOver: () => Promise<void>
  readonly autopilot: Pick<Autopilot, 'dead' | 'removed'>
  readonly clock: Clock
  readonly deadAfterMs: number
  readonly logger: Logger
  /** Told once until something else is to be said. */
  readonly say: (level: 'warn', text: string) => void
}

const words: Readonly<Record<Departure['why'], string>> = {
  left: 'left',
  givenUp: 'was given up',
  dead: 'failed and was replaced',
}

const obstacles: Readonly<Record<Obstacle, string>> = {
  answers: 'it answers Raft',
  noMajority: 'without it too few voters are in contact',
  belowConfiguredQuorum:
    'without it fewer voters than a quorum of the configured size would remain; operator raft remove-peer removes it all the same',
}

export class Departing {
  readonly #options: DepartingOptions
  readonly #notes: Departures
  #leaving = false
  #votersMax = 0

  constructor(options: DepartingOptions) {
    this.#options = options
    this.#notes = new Departures(options.clock)
  }

  /** This server leaves the cluster for good. */
  get leaving(): boolean {
    return this.#leaving
  }

  /** A server that is here again is no longer on its way out. */
  isBack(id: string): void {
    this.#notes.forget(id)
  }

  /**
   * Tells the leader that this server leaves for good, until it is removed, or the leader keeps it, or the time is up: then
   * it goes as a voter that is down. Never rejects.
   */
  async leave(): Promise<void> {
    const { self, node, call, handOver, clock, logger } = this.#options
    this.#leaving = true
    const deadlineMs = clock.monotonicMs() + leaveMs
    let reason = 'there is no leader'
    while (clock.monotonicMs() < deadlineMs) {
      const { configuration, leaderId } = node.status()
      if (!configuration.members.some(({ id }) => id !== self.id)) return
      // It may have been elected after it handed over: only another leader removes it.
      if (leaderId === self.id) await handOver()
      const leader = configuration.members.find(({ id }) => id === leaderId && id !== self.id)
      try {
        const { removed, held = null } =
          leader === undefined
            ? { removed: false }
            : await call(leader, leaveMethod, { id: self.id })
        if (removed) {
          logger.info('the leader has removed this server, which leaves')
          return
        }
        if (held !== null) {
          logger.warn('this server leaves and stays a voter of its cluster', { reason: held })
          return
        }
      } catch (error) {
        reason = textOf(error)
      }
      await delay(clock, leaveRetryMs)
    }
    logger.warn('this server leaves and is still a member: give it up with force-leave', { reason })
  }

  /** By an operator's word: `name` is a server's, without the region. It goes once it does not answer Raft. */
  async giveUp(name: string): Promise<void> {
    const { self, node, logger } = this.#options
    const member = node.status().configuration.members.find((known) => known.name === name)
    if (member === undefined || member.id === self.id) return
    logger.info('a server was given up by command', { name, id: member.id })
    this.#notes.note(member.id, 'givenUp')
    await this.handOn()
  }

  /** Elsewhere than at the leader: what an operator said here goes to the leader, now or in a later round. */
  async handOn(): Promise<void> {
    const { node, call, self } = this.#options
    for (const { id } of this.#notes.list()) {
      const { configuration, leaderId, role } = node.status()
      if (role === 'leader') return
      const leader = configuration.members.find((member) => member.id === leaderId)
      if (leader === undefined || leader.id === self.id) return
      try {
        await call(leader, giveUpMethod, { id })
        this.#notes.forget(id)
      } catch (error) {
        const code = codeOf(error)
        if (code !== 'conflict' && code !== 'not_found') return
        this.#options.say('warn', textOf(error))
        this.#notes.forget(id)
      }
    }
  }

  /** Once a round, everywhere. */
  observe(): void {
    const { members } = this.#options.node.status().configuration
    const voters = members.filter(({ role }) => role === 'voter').length
    this.#votersMax = Math.max(this.#votersMax, voters)
  }

  /** At the leader, once a round. */
  async removeDeparted(): Promise<void> {
    const { node, autopilot, logger, say } = this.#options
    const departures = await this.#departures()
    if (departures.length === 0) return
    const { next, held } = nextRemoval(this.#view(), departures)
    const [first] = held
    if (first !== undefined) {
      const { member, obstacle } = first
      say('warn', `${member.name} is gone, and stays a member for now: ${obstacles[obstacle]}`)
    }
    if (next === null) return
    const { id, name } = next.member
    if (next.why === 'dead') autopilot.removed(id)
    await node.changeMembership({ type: 'remove', id })
    this.#notes.forget(id)
    logger.info(`a server that ${words[next.why]} was removed from the cluster`, { name, id })
  }

  async #departures(): Promise<readonly Departure[]> {
    const { node, autopilot } = this.#options
    const departures: Departure[] = []
    for (const { id, why, notedMs } of this.#notes.list()) {
      const { configuration, followers } = node.status()
      const member = configuration.members.find((known) => known.id === id)
      const isHeard = (followers.get(id)?.lastContact ?? -Infinity) > notedMs
      // It may have been started again since.
      const isBack =
        isHeard &&
        member !== undefined &&
        (why === 'givenUp' || (await this.#leaves(member)) === false)
      if (member === undefined || isBack) this.#notes.forget(id)
      else departures.push({ id, why })
    }
    const noted = new Set(departures.map(({ id }) => id))
    const dead = autopilot.dead().filter((id) => !noted.has(id))
    return [...departures, ...dead.map((id) => ({ id, why: 'dead' }) as const)]
  }

  /** As `MembershipAnswers`. */
  async left(id: string): Promise<Left> {
    this.#mustLead()
    const member = this.#member(id)
    if (member === undefined) return { removed: true, held: null }
    // The caller is not authenticated; the process that answers at the server's address is the server.
    if ((await this.#leaves(member)) !== true) {
      throw new MusterError('conflict', `${member.name} does not say that it leaves`)
    }
    this.#notes.note(id, 'left')
    // It goes once there are more voters again. What else stands against it may pass while it waits.
    const isHeld = obstacleTo(this.#view(), member, 'left') === 'belowConfiguredQuorum'
    return { removed: false, held: isHeld ? obstacles.belowConfiguredQuorum : null }
  }

  /** As `MembershipAnswers`. */
  givenUp(id: string): void {
    this.#mustLead()
    const member = this.#member(id)
    if (member === undefined) throw new MusterError('not_found', `no server has the id ${id}`)
    if (this.#inContact().has(id)) {
      throw new MusterError('conflict', `${member.name} answers Raft, and stays a member`)
    }
    this.#notes.note(id, 'givenUp')
  }

  #mustLead(): void {
    if (this.#options.node.status().role === 'leader') return
    throw new MusterError('not_leader', 'this server does not lead')
  }

  #view(): RemovalView {
    const { node, self, bootstrapExpect } = this.#options
    const { members } = node.status().configuration
    const configuredSize = Math.max(bootstrapExpect, this.#votersMax)
    return { members, self: self.id, inContact: this.#inContact(), configuredSize }
  }

  #member(id: string): Member | undefined {
    return this.#options.node.status().configuration.members.find((member) => member.id === id)
  }

  #inContact(): ReadonlySet<string> {
    const { node, clock, deadAfterMs } = this.#options
    const nowMs = clock.monotonicMs()
    const heard = [...node.status().followers].filter(
      ([, { lastContact }]) => nowMs - lastContact < deadAfterMs,
    )
    return new Set(heard.map(([id]) => id))
  }

  /** Whether a server says, asked at its address, that it leaves; null: it does not answer. */
  async #leaves(member: Member): Promise<boolean | null> {
    try {
      const { id, leaving = false } = await this.#options.call(member, identityMethod, {})
      return id === member.id ? leaving : null
    } catch {
      return null
    }
  }
}
