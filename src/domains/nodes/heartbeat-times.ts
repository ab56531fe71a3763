/** How often nodes say that they live, and how long they may be silent. */

export type HeartbeatSettings = {
  /** Of a node's time to live, however few nodes there are. */
  readonly ttlMsMin: number
  /** Of all nodes together, in the mean. */
  readonly perSecondMax: number
  /** After the time to live: what a heartbeat may take to the leader. */
  readonly graceMs: number
  /** What a new leader gives every node that is not down, once. */
  readonly failoverMs: number
}

/** A node is told this, and up to as much again at random. */
export function ttlMsOf(settings: HeartbeatSettings, nodeCount: number): number {
  return Math.max(settings.ttlMsMin, Math.ceil((nodeCount * 1_000) / settings.perSecondMax))
}

/** A node that was not heard for so long missed its heartbeats, whichever time it was told. */
export function silentMsMax(ttlMs: number, graceMs: number): number {
  return 2 * ttlMs + graceMs
}
