/** Consensus as `rpc` wants it, made from the Raft node. */
import { firstOf } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Member } from '../raft/core/message.ts'
import type { Raft, RaftStatus } from '../raft/raft.ts'
import type { Consensus, LeaderInfo, Proposed, ProposeOptions } from '../rpc/consensus.ts'

/** Where a member is dialed: its advertised address, unless the configuration file or gossip knows another. */
export type AddressOf = (member: {
  readonly id: string
  readonly name: string
  readonly address: string
}) => string

/** What this asks of `Raft`. */
type AskedNode = Pick<
  Raft,
  'status' | 'propose' | 'readBarrier' | 'isFresh' | 'lastContactMs' | 'onChange'
>

export class RaftConsensus implements Consensus {
  readonly #node: AskedNode
  readonly #addressOf: AddressOf
  readonly #clock: Clock
  #status: RaftStatus
  #leader: LeaderInfo | null = null
  /** It hands over or did, and knows no other leader yet. */
  #handsOver = false
  readonly #waiting = new Set<(leader: LeaderInfo) => void>()
  readonly #listeners = new Set<() => void>()

  constructor(node: AskedNode, addressOf: AddressOf, clock: Clock) {
    this.#node = node
    this.#addressOf = addressOf
    this.#clock = clock
    this.#status = node.status()
    this.#changed(this.#status)
    node.onChange((status) => this.#changed(status))
  }

  propose(data: Uint8Array, options?: ProposeOptions): Promise<Proposed> {
    return this.#node.propose(data, options)
  }

  readBarrier(
    mode: 'linearizable' | 'leader',
    deadlineMs: number,
    signal?: Pick<AbortSignal, 'aborted'>,
  ) {
    return this.#node.readBarrier(mode, deadlineMs, signal)
  }

  isFresh(mode: 'linearizable' | 'leader'): boolean {
    return this.#node.isFresh(mode)
  }

  /**
   * False until its state holds all that was acknowledged before it was elected, for methods decide on that state;
   * and while it hands over, so that requests wait for the next leader instead of being refused.
   */
  isLeader(): boolean {
    return this.#status.settled && !this.#status.transferring
  }

  isSettling(): boolean {
    return (this.#status.role === 'leader' || this.#handsOver) && !this.isLeader()
  }

  leader(): LeaderInfo | null {
    return this.#leader
  }

  onceChanged(listener: () => void): () => void {
    // A set of functions would take two equal ones for one.
    const once = () => listener()
    this.#listeners.add(once)
    return () => this.#listeners.delete(once)
  }

  waitForLeader(deadlineMs: number, signal?: AbortSignal): Promise<LeaderInfo> {
    if (this.#leader !== null) return Promise.resolve(this.#leader)
    return firstOf<LeaderInfo>({
      clock: this.#clock,
      ms: deadlineMs - this.#clock.monotonicMs(),
      signal,
      listen: (found) => {
        this.#waiting.add(found)
        return () => this.#waiting.delete(found)
      },
      timeout: () => {
        throw new MusterError('no_leader', 'No cluster leader')
      },
    })
  }

  lastContactMs(): number {
    return this.#node.lastContactMs()
  }

  #changed(status: RaftStatus): void {
    this.#status = status
    if (status.role === 'leader') this.#handsOver = status.transferring
    else if (status.leaderId !== null) this.#handsOver = false
    const member = status.configuration.members.find(({ id }) => id === status.leaderId)
    const leads = status.role === 'leader'
    const accepts = !leads || (status.settled && !status.transferring)
    this.#leader = member !== undefined && accepts ? this.#infoOf(member, status.term) : null
    if (this.#leader !== null) for (const found of this.#waiting) found(this.#leader)
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener()
  }
  #infoOf(member: Member, term: number): LeaderInfo {
    return { id: member.id, name: member.name, address: this.#addressOf(member), term }
  }
}
