/**
 * Everybody this member knows of, itself included, and the ring in which they are probed.
 *
 * The ring holds the living, and the dead for as long as gossip goes to them; its size is the size of the pool in all
 * formulas. A member dead for longer is retired from the ring and stays known, so that an old claim cannot bring
 * it back to life (`alive-suspect-dead.ts`).
 *
 * Invariants: the incarnation of a name never falls; `ring` holds exactly the members that are not retired.
 */
import { randomInteger, type Random } from '../../lib/random.ts'
import type { Coordinate } from './coordinate.ts'
import type { Endpoint, MemberState, Versions } from './message.ts'
import type { Suspicion } from './suspicion.ts'

/** Names known at once. When full, the member dead for longest is forgotten; without dead, newcomers are refused. */
export const membersMax = 10_000
/**
 * Living members that never answered this one, and that it did not ask for by joining: any sender can make them up. When there are so
 * many, a newcomer that this member has met itself takes the place of one of them; others wait until some have answered or
 * are found dead.
 */
export const hearsayMax = 4_096
/** They are counted anew so often. */
const recountMs = 1_000

/** By which way a member answered last. `stream-only`: its UDP is blocked and its TCP open. */
export type Reach = 'untried' | 'direct' | 'indirect' | 'stream-only'

export type Member = {
  readonly name: string
  endpoint: Endpoint
  meta: Uint8Array
  versions: Versions
  incarnation: number
  state: MemberState
  stateChangedAt: number
  reach: Reach
  reachChangedAt: number
  /** The newest one, perhaps ended. */
  suspicion: Suspicion | null
  /** Who declared it dead or, being itself, left; null while it lives. */
  goneBy: string | null
  /** Where it placed itself in its last direct answer; null: it did not say, or moved since. Sound. */
  coordinate: Coordinate | null
  /** The last ones, in seconds, the newest last; at most `roundTripsMax`. */
  readonly roundTrips: number[]
  /** Given up by command: its name may move to another address at once. */
  released: boolean
  retired: boolean
  /** When it was last asked to object to its death, and when its name was last seen claimed by another address. */
  challengedAt: number
  conflictAt: number
}

/** What is known of a member from its own first claim. */
export type Introduction = Pick<
  Member,
  'name' | 'endpoint' | 'meta' | 'versions' | 'incarnation' | 'reach'
>

/** Alive from `now` on, without a past. */
export function newMember(introduction: Introduction, now: number): Member {
  const { name, endpoint, meta, versions, incarnation, reach } = introduction
  return {
    name,
    endpoint,
    meta,
    versions,
    incarnation,
    state: 'alive',
    stateChangedAt: now,
    reach,
    reachChangedAt: now,
    suspicion: null,
    goneBy: null,
    coordinate: null,
    roundTrips: [],
    released: false,
    retired: false,
    challengedAt: -Infinity,
    conflictAt: -Infinity,
  }
}

export function isGone(member: Member): boolean {
  return member.state === 'dead' || member.state === 'left'
}

function isHearsay({ reach, state }: Member): boolean {
  return reach === 'untried' && (state === 'alive' || state === 'suspect')
}

export function sameEndpoint(left: Endpoint, right: Endpoint): boolean {
  return left.port === right.port && sameBytes(left.address, right.address)
}

export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index += 1) {
    if (left[index] !== right[index]) return false
  }
  return true
}

export class Members {
  readonly #random: Random
  readonly #byName = new Map<string, Member>()
  #ring: Member[] = []
  #next = 0
  /** Never below the truth: those that answered since the count are still in it. */
  #untried = { count: 0, atMs: -Infinity }

  constructor(random: Random) {
    this.#random = random
  }

  get size(): number {
    return this.#byName.size
  }

  /** Size of the pool: everyone but the retired. */
  get ringSize(): number {
    return this.#ring.length
  }

  /** Those of the pool that are neither dead nor left; suspects are. */
  living(): number {
    let count = 0
    for (const member of this.#ring) if (!isGone(member)) count += 1
    return count
  }

  get(name: string): Member | undefined {
    return this.#byName.get(name)
  }

  /** The members at that address, the living before the dead; looks at all of them. */
  at(endpoint: Endpoint): Member | undefined {
    let found: Member | undefined
    for (const member of this.#byName.values()) {
      if (!sameEndpoint(member.endpoint, endpoint)) continue
      if (found === undefined || isGone(found)) found = member
    }
    return found
  }

  all(): IterableIterator<Member> {
    return this.#byName.values()
  }

  /** Living members that never answered this one. */
  untried(now: number): number {
    if (now - this.#untried.atMs >= recountMs) {
      let count = 0
      for (const member of this.#byName.values()) if (isHearsay(member)) count += 1
      this.#untried = { count, atMs: now }
    }
    return this.#untried.count
  }

  /** Takes a new member in, at a random place of the ring so that not all probe it at the same moment. */
  add(member: Member): void {
    this.#byName.set(member.name, member)
    if (member.reach === 'untried') this.#untried.count += 1
    if (!member.retired) this.#insert(member)
  }

  /** Back into the ring. */
  revive(member: Member): void {
    if (!member.retired) return
    member.retired = false
    this.#insert(member)
  }

  forget(name: string): void {
    const member = this.#byName.get(name)
    if (member === undefined) return
    this.#byName.delete(name)
    if (isHearsay(member)) this.#untried.count -= 1
    if (!member.retired) this.#ring = this.#ring.filter((other) => other !== member)
  }

  /** Of the living that never answered and are not suspected yet: the one known for longest. */
  oldestUntried(): Member | null {
    let oldest: Member | null = null
    for (const member of this.#byName.values()) {
      if (member.reach !== 'untried' || member.state !== 'alive') continue
      if (oldest === null || member.stateChangedAt < oldest.stateChangedAt) oldest = member
    }
    return oldest
  }

  /** The member dead for longest. */
  oldestGone(): Member | null {
    let oldest: Member | null = null
    for (const member of this.#byName.values()) {
      if (!isGone(member)) continue
      if (oldest === null || member.stateChangedAt < oldest.stateChangedAt) oldest = member
    }
    return oldest
  }

  /**
   * Round-robin: everyone is probed once in a round, in an order that is drawn anew for each (SWIM 4.3). Between
   * rounds those dead since before `retireBefore` leave the ring. Null: no member is wanted.
   */
  nextProbe(wanted: (member: Member) => boolean, retireBefore: number): Member | null {
    for (let checked = this.#ring.length; checked > 0; checked -= 1) {
      if (this.#next >= this.#ring.length) this.#newRound(retireBefore)
      const member = this.#ring[this.#next]
      this.#next += 1
      if (member !== undefined && wanted(member)) return member
    }
    return null
  }

  /** At most `count` different members, drawn at random; no wanted member is missed while there is room. */
  pick(count: number, wanted: (member: Member) => boolean): Member[] {
    const picked: Member[] = []
    const undrawn = [...this.#ring]
    for (let drawn = 0; drawn < undrawn.length && picked.length < count; drawn += 1) {
      const at = randomInteger(this.#random, drawn, undrawn.length)
      const [member, first] = [undrawn[at], undrawn[drawn]]
      if (member === undefined || first === undefined) break
      undrawn[at] = first
      if (wanted(member)) picked.push(member)
    }
    return picked
  }

  #insert(member: Member): void {
    this.#ring.push(member)
    this.#swap(randomInteger(this.#random, 0, this.#ring.length), this.#ring.length - 1)
  }

  #newRound(retireBefore: number): void {
    this.#next = 0
    for (const member of this.#ring) {
      member.retired = isGone(member) && member.stateChangedAt < retireBefore
    }
    this.#ring = this.#ring.filter((member) => !member.retired)
    for (let last = this.#ring.length - 1; last > 0; last -= 1) {
      this.#swap(randomInteger(this.#random, 0, last + 1), last)
    }
  }

  #swap(left: number, right: number): void {
    const one = this.#ring[left]
    const other = this.#ring[right]
    if (one === undefined || other === undefined) return
    this.#ring[left] = other
    this.#ring[right] = one
  }
}
