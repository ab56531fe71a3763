/**
 * Who is in the cluster, and how one configuration becomes the next: one server at a time (4.1).
 *
 * Two majorities of configurations that differ by one voter always overlap, provided that a leader changes the
 * configuration only after it committed an entry of its own term, and one change is committed before the next begins.
 * Without the first condition two leaders of different terms can each commit a different change whose majorities
 * do not overlap (Ongaro's message to raft-dev, 2015-07-10). `leader.ts` holds both conditions.
 */
import { assert } from '../../lib/assert.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import type {
  Configuration,
  Entry,
  LogIndex,
  Member,
  ServerId,
  SnapshotMeta,
  Succession,
} from './message.ts'
import { predecessorsMax, supersedes, withoutEffect } from './succession.ts'

export type Change =
  | { readonly type: 'addLearner'; readonly member: Omit<Member, 'role'> }
  | { readonly type: 'promote'; readonly id: ServerId }
  | { readonly type: 'remove'; readonly id: ServerId }
  | { readonly type: 'readdress'; readonly member: Omit<Member, 'role'> }

export const membersMax = 32
const encodedBytesMax = 64 * 1024

const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder('utf-8', { fatal: true }) }

/** A program that knows no succession must not read a configuration that has one: it would take old members in. */
const versions = { plain: 1, withSuccession: 2 } as const

/** The bytes of a configuration entry: JSON with a version, for it is small, rare and worth reading in a dump. */
export function encodeConfiguration(configuration: Configuration): Uint8Array {
  const version = configuration.succession === undefined ? versions.plain : versions.withSuccession
  return utf8.encoder.encode(JSON.stringify({ version, ...configuration }))
}

/** Throws when the bytes are not a configuration that this program knows: the log is then of another program. */
export function decodeConfiguration(data: Uint8Array): Configuration {
  assert(data.length <= encodedBytesMax, 'a configuration entry is within its bound')
  const parsed: unknown = JSON.parse(utf8.decoder.decode(data))
  const version = isJsonObject(parsed) ? parsed['version'] : null
  const known = version === versions.plain || version === versions.withSuccession
  if (!isJsonObject(parsed) || !known || typeof parsed['clusterId'] !== 'string') {
    throw new Error('the log holds a cluster configuration of an unknown format')
  }
  const { clusterId, members } = parsed
  if (!Array.isArray(members) || members.length > membersMax) {
    throw new Error('the log holds a cluster configuration with a bad member list')
  }
  const configuration = { clusterId, members: members.map(parseMember) }
  if (version === versions.plain) return configuration
  return { ...configuration, succession: parseSuccession(parsed['succession']) }
}

function parseSuccession(value: unknown): Succession {
  if (isJsonObject(value) && Array.isArray(value['predecessors'])) {
    const { beginsAt } = value
    const predecessors = value['predecessors'].filter((id) => typeof id === 'string')
    const whole = predecessors.length === value['predecessors'].length
    if (whole && predecessors.length <= predecessorsMax && typeof beginsAt === 'number') {
      return { predecessors, beginsAt }
    }
  }
  throw new Error('the log holds a cluster configuration with a bad succession')
}

function parseMember(value: unknown): Member {
  if (isJsonObject(value)) {
    const { id, name, address, role } = value
    if (
      typeof id === 'string' &&
      typeof name === 'string' &&
      typeof address === 'string' &&
      (role === 'voter' || role === 'learner')
    ) {
      return { id, name, address, role }
    }
  }
  throw new Error('the log holds a cluster configuration with a bad member')
}

/** The next configuration, or in words why there is none. */
export function applyChange(current: Configuration, change: Change): Configuration | string {
  const { members } = current
  const others = (id: ServerId) => members.filter((member) => member.id !== id)
  switch (change.type) {
    case 'addLearner': {
      if (members.some((member) => member.id === change.member.id)) {
        return `server ${change.member.id} is a member already`
      }
      if (members.length >= membersMax) return `a cluster has at most ${membersMax} servers`
      return { ...current, members: [...members, { ...change.member, role: 'learner' }] }
    }
    case 'promote': {
      const member = members.find((candidate) => candidate.id === change.id)
      if (member === undefined) return `server ${change.id} is not a member`
      if (member.role === 'voter') return `server ${change.id} is a voter already`
      return { ...current, members: replace(members, { ...member, role: 'voter' }) }
    }
    case 'remove': {
      const rest = others(change.id)
      if (rest.length === members.length) return `server ${change.id} is not a member`
      if (!rest.some((member) => member.role === 'voter')) {
        return 'the last voter cannot be removed'
      }
      return { ...current, members: rest }
    }
    case 'readdress': {
      const member = members.find((candidate) => candidate.id === change.member.id)
      if (member === undefined) return `server ${change.member.id} is not a member`
      return { ...current, members: replace(members, { ...change.member, role: member.role }) }
    }
  }
}

function replace(members: readonly Member[], changed: Member): readonly Member[] {
  return members.map((member) => (member.id === changed.id ? changed : member))
}

/** In force at the end of a log that begins at `base` and holds these configuration entries. */
export function configurationAfter(base: SnapshotMeta, entries: readonly Entry[]): Configuration {
  const { configuration, configurationIndex } = base
  const membership = new Membership('', { index: configurationIndex, configuration })
  for (const entry of entries) {
    if (entry.index > membership.index) membership.appended(entry)
  }
  return membership.configuration
}

type Effective = { readonly index: LogIndex; readonly configuration: Configuration }

/**
 * The configuration in force, and those it would fall back to if its entry were cut off.
 * Invariant: `#history` is never empty and ascends by index.
 */
export class Membership {
  #history: Effective[]
  #voters: readonly ServerId[] = []
  #peers: readonly ServerId[] = []
  readonly #self: ServerId

  constructor(self: ServerId, base: Effective) {
    this.#self = self
    this.#history = [base]
    this.#derive()
  }

  get configuration(): Configuration {
    return this.#newest().configuration
  }

  /** Index of the entry that brought the configuration in force. */
  get index(): LogIndex {
    return this.#newest().index
  }

  get voters(): readonly ServerId[] {
    return this.#voters
  }

  /** Every member but this server, learners included. */
  get peers(): readonly ServerId[] {
    return this.#peers
  }

  isVoter(id: ServerId): boolean {
    return this.#voters.includes(id)
  }

  isMember(id: ServerId): boolean {
    return this.configuration.members.some((member) => member.id === id)
  }

  appended(entry: Entry): void {
    const configuration = decodeConfiguration(entry.data)
    if (supersedes(this.configuration, configuration)) return
    assert(entry.index > this.index, 'configurations are appended in order')
    this.#history.push({ index: entry.index, configuration })
    this.#derive()
  }

  /** Of a state at `meta.index`, which may not have heard yet that its cluster has a successor. */
  inForceAt(meta: SnapshotMeta): SnapshotMeta {
    const known = this.#history.findLast(({ index }) => index <= meta.index) ?? this.#oldest()
    if (!supersedes(known.configuration, meta.configuration)) return meta
    const configurationIndex = Math.min(known.index, meta.index)
    return { ...meta, configuration: known.configuration, configurationIndex }
  }

  /** Entries as the state is to see them: what was a predecessor's membership is none any more. */
  inEffect(entries: readonly Entry[]): readonly Entry[] {
    const current = this.configuration
    if (current.succession === undefined) return entries
    return entries.map((entry) => {
      if (entry.kind !== 'configuration') return entry
      return supersedes(current, decodeConfiguration(entry.data)) ? withoutEffect(entry) : entry
    })
  }

  /** Entries from `from` on are gone. True when the configuration in force changed. */
  truncated(from: LogIndex): boolean {
    const kept = this.#history.filter((effective) => effective.index < from)
    if (kept.length === this.#history.length) return false
    assert(kept.length > 0, 'a committed configuration is never cut off')
    this.#history = kept
    this.#derive()
    return true
  }

  /** Nothing at or below `commitIndex` can be cut off any more. */
  committed(commitIndex: LogIndex): void {
    while (this.#history.length > 1 && (this.#history[1]?.index ?? Infinity) <= commitIndex) {
      this.#history.shift()
    }
  }

  replaced(base: Effective): void {
    this.#history = [base]
    this.#derive()
  }

  #oldest(): Effective {
    const oldest = this.#history[0]
    assert(oldest !== undefined, 'a configuration is always in force')
    return oldest
  }

  #newest(): Effective {
    const newest = this.#history.at(-1)
    assert(newest !== undefined, 'a configuration is always in force')
    return newest
  }

  #derive(): void {
    const { members } = this.configuration
    this.#voters = members.filter((member) => member.role === 'voter').map((member) => member.id)
    this.#peers = members.map((member) => member.id).filter((id) => id !== this.#self)
  }
}
