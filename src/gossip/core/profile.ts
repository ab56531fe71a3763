/**
 * The protocol's times and numbers as data, and the formulas that scale them with the size of the pool.
 *
 * `gossip/core` is two pure machines in one: the failure detector (SWIM with the Lifeguard extensions) and the
 * membership layer above it (intents in Lamport time, user events, queries). It may import `lib` alone; code
 * outside the folder uses `core.ts`, `ready.ts`, `profile.ts` and `message.ts`.
 */
export type Profile = {
  readonly probeIntervalMs: number
  /** How long the direct ping waits before others are asked to ping too. */
  readonly probeTimeoutMs: number
  readonly indirectProbes: number
  readonly suspicionMultiplier: number
  /** The longest suspicion is this many times the shortest. */
  readonly suspicionMaximumMultiplier: number
  /** Exclusive bound of the health score; intervals grow at most by this factor. */
  readonly awarenessMax: number
  readonly gossipIntervalMs: number
  readonly gossipFanout: number
  /** Dead members are still told of their death for so long, so that a living one can object. */
  readonly gossipToDeadMs: number
  readonly pushPullIntervalMs: number
  readonly retransmitMultiplier: number
  /** Bytes of a packet before encryption. */
  readonly packetBytesMax: number
  readonly streamTimeoutMs: number
  /** A dead member's name may move to another address after so long; null: never while it is remembered. */
  readonly deadReclaimMs: number | null
}

export const lanProfile: Profile = {
  probeIntervalMs: 1_000,
  probeTimeoutMs: 500,
  indirectProbes: 3,
  suspicionMultiplier: 4,
  suspicionMaximumMultiplier: 6,
  awarenessMax: 8,
  gossipIntervalMs: 200,
  gossipFanout: 3,
  gossipToDeadMs: 30_000,
  pushPullIntervalMs: 30_000,
  retransmitMultiplier: 4,
  packetBytesMax: 1_400,
  streamTimeoutMs: 10_000,
  deadReclaimMs: 30_000,
}

export const localProfile: Profile = {
  ...lanProfile,
  probeTimeoutMs: 200,
  indirectProbes: 1,
  suspicionMultiplier: 3,
  gossipIntervalMs: 100,
  gossipToDeadMs: 15_000,
  pushPullIntervalMs: 15_000,
  retransmitMultiplier: 2,
  streamTimeoutMs: 1_000,
}

/** Pools up to this size exchange their whole state at the plain interval. */
const pushPullScaleFrom = 32

/** In a pool of five, four transmissions at random, some to the dead itself, miss a member once in a hundred times. */
const retransmitScaleMin = 2

/** In a pool of three, two may both be spent on the pings of one member. */
const retransmitMin = 4

/** Transmissions of one broadcast by one member: enough that everybody hears it with high probability. */
export function retransmitLimit(profile: Profile, members: number): number {
  const { retransmitMultiplier, gossipFanout } = profile
  const scale = Math.ceil(Math.log10(members + 1))
  // One round reaches all others of a pool that is smaller still.
  const scaleMin = members <= gossipFanout ? 1 : retransmitScaleMin
  return Math.max(retransmitMin, retransmitMultiplier * Math.max(scaleMin, scale))
}

/** Milliseconds between whole exchanges; longer in large pools, where each costs more. */
export function pushPullIntervalMs(profile: Profile, members: number): number {
  if (members <= pushPullScaleFrom) return profile.pushPullIntervalMs
  const factor = Math.ceil(Math.log2(members) - Math.log2(pushPullScaleFrom)) + 1
  return profile.pushPullIntervalMs * factor
}

/**
 * The shortest and longest time a suspect has to object, and how many others must agree to reach the shortest.
 * `members`: the size of the pool. `living`: those of them, this one and the suspect included, that could say a word;
 * a member that has just left cannot agree, and waiting for it would make the death of another long.
 */
export function suspicionTimes(
  profile: Profile,
  { members, living }: { readonly members: number; readonly living: number },
): { readonly minMs: number; readonly maxMs: number; readonly confirmationsWanted: number } {
  const scale = Math.max(1, Math.log10(Math.max(1, members)))
  const minMs = profile.suspicionMultiplier * scale * profile.probeIntervalMs
  const wanted = profile.suspicionMultiplier - 2
  // The suspect and the first accuser cannot confirm: a small pool would wait in vain.
  const confirmationsWanted = living - 2 < wanted ? 0 : wanted
  return { minMs, maxMs: minMs * profile.suspicionMaximumMultiplier, confirmationsWanted }
}
