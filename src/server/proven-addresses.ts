/**
 * Where members are dialed that moved. Gossip may say anything, so that a member is somewhere else counts only once a
 * server of its id answered there over RPC, and none does any more where it was.
 */
import type { Clock } from '../lib/clock.ts'
import type { Self } from './self.ts'

/** Between two looks for the same member. */
const lookEveryMs = 500

export type ProvenAddressesOptions = {
  /** The members of the Raft configuration but this one. */
  readonly members: () => readonly Self[]
  /** Where gossip says that a server is; null: it does not know. */
  readonly claimed: (id: string) => string | null
  /** Whether the server of that id answers at an address. Never rejects. */
  readonly answers: (address: string, id: string) => Promise<boolean>
  /** A member is dialed elsewhere from now on. */
  readonly onMoved: () => void
  readonly clock: Clock
}

/** Valid while the Raft configuration has the member where it was when this was found. */
type Proven = { readonly address: string; readonly insteadOf: string }

export class ProvenAddresses {
  readonly #options: ProvenAddressesOptions
  readonly #proven = new Map<string, Proven>()
  readonly #lookedMs = new Map<string, number>()
  #looking: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(options: ProvenAddressesOptions) {
    this.#options = options
  }

  /** Null: where the Raft configuration says. */
  addressOf({ id, address }: Pick<Self, 'id' | 'address'>): string | null {
    const proven = this.#proven.get(id)
    return proven?.insteadOf === address ? proven.address : null
  }

  /** Whether a member moved: in a moment, if gossip says so. */
  look(): void {
    if (this.#stopped) return
    const { members: membersOf, claimed, clock } = this.#options
    const members = membersOf()
    const nowMs = clock.monotonicMs()
    for (const member of members) {
      const address = claimed(member.id)
      const known = this.addressOf(member) ?? member.address
      const lookedMs = this.#lookedMs.get(member.id) ?? -Infinity
      if (address === null || address === known || nowMs - lookedMs < lookEveryMs) continue
      this.#lookedMs.set(member.id, nowMs)
      this.#looking = Promise.all([this.#looking, this.#prove(member, known, address)])
    }
    const ids = new Set(members.map(({ id }) => id))
    for (const id of this.#lookedMs.keys()) if (!ids.has(id)) this.#forget(id)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#looking
  }

  async #prove(member: Self, known: string, address: string): Promise<void> {
    const { answers, onMoved } = this.#options
    if (!(await answers(address, member.id)) || (await answers(known, member.id))) return
    if (this.#stopped) return
    this.#proven.set(member.id, { address, insteadOf: member.address })
    onMoved()
  }

  #forget(id: string): void {
    this.#lookedMs.delete(id)
    this.#proven.delete(id)
  }
}
