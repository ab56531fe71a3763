/**
 * Anti-entropy: now and then, and to join, two members exchange all they know over a stream.
 *
 * What a peer calls suspect or dead is only a suspicion here: the member is given the time to object.
 */
import { claimAlive, claimDead, claimSuspect } from './alive-suspect-dead.ts'
import { isGone, sameBytes, sameEndpoint } from './members.ts'
import type { Endpoint, PushPull, PushPullNode } from './message.ts'
import { pushPullIntervalMs } from './profile.ts'
import { nextId, type Swim } from './state.ts'
import { compatible } from './versions.ts'

/** Exchanges this member started and that are not answered yet. */
export const exchangesMax = 64

/** The id under which `exchanged` is called; null: too many are under way. */
export function startExchange(
  swim: Swim,
  to: Endpoint,
  options: { readonly join: boolean; readonly replayEvents: boolean },
): number | null {
  if (swim.exchanges.size >= exchangesMax) return null
  const id = nextId(swim)
  const timeoutMs = swim.profile.streamTimeoutMs
  // The driver answers within the time-out; a margin lets it.
  swim.exchanges.set(id, { to, ...options, deadline: swim.now + 2 * timeoutMs })
  swim.out.exchanges.push({ id, to, message: localState(swim, options.join), timeoutMs })
  return id
}

/** The state to send; the peer's is merged afterwards. */
export function localState(swim: Swim, join: boolean): PushPull {
  const nodes: PushPullNode[] = []
  for (const { name, endpoint, meta, incarnation, state, versions } of swim.members.all()) {
    nodes.push({ name, endpoint, meta, incarnation, state, versions })
  }
  return { type: 'push-pull', nodes, userState: swim.upper.localState(), join }
}

/** Learns of a member that this one does not have, from itself: it has just answered there. */
export function meet(swim: Swim, to: Endpoint): void {
  if (swim.leaving || swim.members.at(to) !== undefined) return
  startExchange(swim, to, { join: false, replayEvents: false })
}

/** Null, or why nothing was merged. `isSought`: this member asked for it, to join. */
export function mergeState(
  swim: Swim,
  state: PushPull,
  options: { readonly via: Endpoint; readonly join: boolean; readonly isSought: boolean },
): string | null {
  const { via, join, isSought } = options
  const living = state.nodes.filter((node) => node.state === 'alive')
  const fits = living.some(
    ({ versions }) => versions !== null && compatible(swim.versions, versions),
  )
  if (living.length > 0 && !fits) {
    swim.counters.claimsIncompatible += 1
    return 'no living member there speaks a protocol version that this one understands'
  }
  const { self } = swim
  const sender = senderOf(living, via)
  const from = swim.members.at(via)?.name ?? null
  for (const node of state.nodes) mergeNode(swim, node, { via, from, sender, isSought })
  if (state.userState.length > 0) swim.upper.mergeState(state.userState, join)
  const own = state.nodes.find((node) => node.name === self.name)
  if (own !== undefined && own.state === 'dead' && !swim.leaving) swim.upper.selfCalledGone()
  return null
}

/**
 * Where the sender of a state listens; a stream comes from a port of its own. A peer calls itself alive: the one living
 * member at that address is it. Port 0: there are several, or none.
 */
export function listenerOf(swim: Swim, state: PushPull, from: Endpoint): Endpoint {
  const { address } = from
  const here = state.nodes.filter(
    ({ name, state, endpoint }) =>
      state === 'alive' && name !== swim.self.name && sameBytes(endpoint.address, address),
  )
  const [only, other] = here
  return only === undefined || other !== undefined ? { address, port: 0 } : only.endpoint
}

/** The periodic exchange with a random living member. */
export function exchangeTick(swim: Swim): void {
  const { now, profile, members, self } = swim
  for (const [id, pending] of swim.exchanges) {
    if (now >= pending.deadline) swim.exchanges.delete(id)
  }
  if (now < swim.pushPullAt || swim.leaving) return
  swim.pushPullAt = now + pushPullIntervalMs(profile, members.ringSize)
  const [peer] = members.pick(1, (member) => member !== self && !isGone(member))
  if (peer !== undefined) {
    startExchange(swim, peer.endpoint, { join: false, replayEvents: true })
  }
}

/** Who sent the state: the one living member there; null: none, or one of several. */
function senderOf(living: readonly PushPullNode[], via: Endpoint): PushPullNode | null {
  const [only, other] = living.filter(({ endpoint }) => sameEndpoint(endpoint, via))
  return only === undefined || other !== undefined ? null : only
}

type Merging = {
  readonly via: Endpoint
  /** The member that listens there; null: none does. */
  readonly from: string | null
  readonly sender: PushPullNode | null
  readonly isSought: boolean
}

function mergeNode(swim: Swim, node: PushPullNode, { via, from, sender, isSought }: Merging): void {
  const { name, incarnation, endpoint, meta, versions, state } = node
  if (state === 'alive') {
    const claim = { type: 'alive', incarnation, node: name, endpoint, meta, versions } as const
    claimAlive(swim, claim, isSought ? 'sought' : node === sender ? 'met' : 'told')
    return
  }
  if (state === 'left') {
    const answerTo = via.port === 0 ? null : via
    claimDead(swim, { type: 'dead', incarnation, node: name, from: name }, answerTo)
    return
  }
  const claim = { type: 'suspect', incarnation, node: name, from: swim.self.name } as const
  claimSuspect(swim, claim, { type: 'push-pull', via, from }, null)
}
