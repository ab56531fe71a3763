/**
 * One probe after the other, round-robin: a ping; unanswered, pings through others and one over a stream; and only
 * when the whole interval, scaled by own health, brought nothing, a suspicion.
 *
 * Invariant: at most one probe is under way; `indirectAt <= deadline`.
 */
import { assert } from '../../lib/assert.ts'
import { claimSuspect } from './alive-suspect-dead.ts'
import { isSound } from './coordinate.ts'
import { isGone, sameEndpoint, type Member, type Reach } from './members.ts'
import type { Endpoint, PacketMessage, Source } from './message.ts'
import { makeUpFor, stallAllowanceOf } from './stall-allowance.ts'
import { send, sendTo } from './dissemination.ts'
import { nextId, nextSequence, type Probe, type Swim } from './state.ts'
import type { StreamOutcome } from './suspicion.ts'

type Ack = Extract<PacketMessage, { readonly type: 'ack' }>

/** From these protocol versions on a member answers pings over a stream, and says so when it got no answer. */
const streamPingProtocol = 3
const nackProtocol = 4

/** Does what is due: the next stage of the running probe, or the next probe. */
export function probeTick(swim: Swim): void {
  const { probe, now } = swim
  if (probe !== null) {
    if (probe.indirectAt !== null && now >= probe.indirectAt) askOthers(swim, probe)
    if (now >= probe.deadline) endUnanswered(swim, probe)
  }
  if (swim.probe === null && now >= swim.probeAt && !swim.leaving) startProbe(swim)
}

/** When `probeTick` has something to do. */
export function probeDeadline(swim: Swim): number {
  if (swim.probe === null) return swim.leaving ? Infinity : swim.probeAt
  return swim.probe.indirectAt ?? swim.probe.deadline
}

/** True: the sequence is that of the running probe. */
export function probeAnswered(swim: Swim, { sequence, payload }: Ack, from: Endpoint): boolean {
  const { probe } = swim
  if (probe === null || probe.sequence !== sequence) return false
  swim.awareness.apply(-1)
  swim.probe = null
  const isDirect = sameEndpoint(from, probe.member.endpoint)
  setReach(swim, probe.member, isDirect ? 'direct' : 'indirect')
  if (isDirect && payload !== null) coordinateTold(swim, probe, payload)
  return true
}

/** Each member puts its coordinate into its acks, as agents of serf do. One that cannot be is counted and not kept. */
function coordinateTold(
  swim: Swim,
  { member, indirectAt, sentAt }: Probe,
  payload: Uint8Array,
): void {
  const told = swim.codec.decodeCoordinate(payload)
  if (told === null) return
  if (!isSound(told)) {
    swim.counters.coordinatesInvalid += 1
    return
  }
  member.coordinate = told
  // Once others were asked it is not known which ping was answered.
  if (indirectAt === null) return
  const seconds = (swim.now - sentAt) / 1_000
  if (!swim.coordinate.observe(told, seconds, member.roundTrips)) {
    swim.counters.coordinatesInvalid += 1
  }
}

export function probeNacked(swim: Swim, sequence: number, from: Endpoint): void {
  const { probe } = swim
  if (probe === null || probe.sequence !== sequence) return
  if (!probe.helpers.some((helper) => sameEndpoint(helper.endpoint, from))) return
  if (probe.nackedBy.some((other) => sameEndpoint(other, from))) return
  probe.nackedBy.push(from)
}

/** The outcome of a stream ping. */
export function streamPingAnswered(swim: Swim, id: number, outcome: StreamOutcome): void {
  const { probe } = swim
  if (probe === null || probe.streamId !== id) return
  probe.stream = outcome
  // The machine's refusal reached this member: own health is no reason to wait longer for another.
  if (outcome.type === 'refused') probe.deadline = Math.min(probe.deadline, probe.plainDeadline)
}

/** Moves what waits by the time this process was not run: no member is suspected for messages not read meanwhile. */
export function probeHeldUp(swim: Swim, ms: number): void {
  const { probe } = swim
  if (probe === null) return
  const waitMs = makeUpFor(probe.allowance, ms)
  if (probe.indirectAt !== null) probe.indirectAt += waitMs
  probe.deadline += waitMs
  probe.plainDeadline += waitMs
}

export function sourceOf(swim: Swim): Source {
  return { endpoint: swim.self.endpoint, node: swim.self.name }
}

function startProbe(swim: Swim): void {
  const { members, self, profile, now } = swim
  swim.probeAt = now + profile.probeIntervalMs
  const member = members.nextProbe(
    (candidate) => candidate !== self && !isGone(candidate),
    now - profile.gossipToDeadMs,
  )
  if (member === null) return
  const sequence = nextSequence(swim)
  const probe: Probe = {
    member,
    sequence,
    sentAt: now,
    indirectAt: now + profile.probeTimeoutMs,
    deadline: now + swim.awareness.scale(profile.probeIntervalMs),
    plainDeadline: now + profile.probeIntervalMs,
    allowance: stallAllowanceOf(profile.probeIntervalMs),
    helpers: [],
    nacksWanted: 0,
    nackedBy: [],
    streamId: null,
    stream: { type: 'not-tried' },
  }
  assert(profile.probeTimeoutMs <= profile.probeIntervalMs, 'others are asked within the interval')
  swim.probe = probe
  swim.counters.probesSent += 1
  const ping = { type: 'ping', sequence, node: member.name, source: sourceOf(swim) } as const
  const messages: PacketMessage[] = [ping]
  if (member.state === 'suspect') {
    // It is told in the same packet, so that its objection comes as soon as its answer.
    const { incarnation, name } = member
    messages.push({ type: 'suspect', incarnation, node: name, from: self.name })
  }
  sendTo(swim, member, messages)
}

function askOthers(swim: Swim, probe: Probe): void {
  const { members, self, profile, now } = swim
  const { member } = probe
  probe.indirectAt = null
  if (isGone(member)) {
    swim.probe = null
    return
  }
  probe.helpers = members.pick(
    profile.indirectProbes,
    (helper) => helper !== self && helper !== member && helper.state === 'alive',
  )
  for (const helper of probe.helpers) {
    const wantsNack = helper.versions.protocolMax >= nackProtocol
    if (wantsNack) probe.nacksWanted += 1
    sendTo(swim, helper, [
      {
        type: 'indirect-ping',
        sequence: probe.sequence,
        target: member.endpoint,
        node: member.name,
        wantsNack,
        source: sourceOf(swim),
      },
    ])
  }
  if (member.versions.protocolMax < streamPingProtocol) return
  probe.streamId = nextId(swim)
  probe.stream = { type: 'no-answer' }
  swim.out.streamPings.push({
    id: probe.streamId,
    to: member.endpoint,
    ping: {
      type: 'ping',
      sequence: probe.sequence,
      node: member.name,
      source: sourceOf(swim),
    },
    timeoutMs: Math.max(1, probe.deadline - now),
  })
}

function endUnanswered(swim: Swim, probe: Probe): void {
  const { member, nackedBy, helpers, stream } = probe
  swim.probe = null
  if (isGone(member)) return
  if (stream.type === 'answered') {
    // It lives, and a packet filter is in the way: said, not punished.
    swim.awareness.apply(-1)
    setReach(swim, member, 'stream-only')
    return
  }
  swim.counters.probesFailed += 1
  swim.awareness.apply(blameOnSelf(probe))
  const { incarnation, name } = member
  claimSuspect(
    swim,
    { type: 'suspect', incarnation, node: name, from: swim.self.name },
    { type: 'probe', helpers: helpers.length, nacks: nackedBy.length, stream },
    null,
  )
}

/**
 * How much of a failed probe may be this member's own fault. Helpers that do not even say that they tried are a sign of
 * own trouble; without any such each failure is one, unless the target's machine itself said that no process listens.
 */
function blameOnSelf({ nacksWanted, nackedBy, stream }: Probe): number {
  if (stream.type === 'refused') return 0
  return nacksWanted > 0 ? Math.max(0, nacksWanted - nackedBy.length) : 1
}

function setReach(swim: Swim, member: Member, reach: Reach): void {
  if (member.reach === reach) return
  const before = member.reach
  member.reach = reach
  member.reachChangedAt = swim.now
  // A lost packet now and then is no news; a blocked path is, and its end.
  if (reach !== 'stream-only' && before !== 'stream-only') return
  swim.upper.memberReach(member)
}

/** Answers a ping for this member. */
export function answerPing(
  swim: Swim,
  ping: Extract<PacketMessage, { readonly type: 'ping' }>,
  from: Endpoint,
): void {
  if (ping.node !== '' && ping.node !== swim.self.name) {
    swim.counters.pingsForOthers += 1
    return
  }
  const { sequence, source } = ping
  const member = source === null ? undefined : swim.members.get(source.node)
  const payload = swim.codec.encodeCoordinate(swim.coordinate.place)
  send(swim, { endpoint: source?.endpoint ?? from, member: member ?? null }, [
    { type: 'ack', sequence, payload },
  ])
}
