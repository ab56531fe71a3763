/**
 * Messages of consensus to protobuf and back. Decoding checks everything that the core relies on, so that behind
 * it no caller checks again; whatever does not check is one MusterError, and nothing else is ever thrown.
 *
 * Sender and receiver are not in the bytes: they are those of the stream's handshake.
 */
import { assertNever } from '../../lib/assert.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { decodeConfiguration } from '../core/membership.ts'
import type {
  AppendResponse,
  Entry,
  EntryKind,
  Message,
  Promised,
  ServerId,
} from '../core/message.ts'
import { wireType } from '../../wire/protocol.ts'

type WireEntry = {
  readonly index: number
  readonly term: number
  readonly kind: number
  readonly data: Uint8Array
}
type WireVoteRequest = {
  readonly lastIndex: number
  readonly lastTerm: number
  readonly transfer: boolean
}
type WireAppendRequest = {
  readonly prevIndex: number
  readonly prevTerm: number
  readonly commitIndex: number
  readonly round: number
  readonly entries: readonly WireEntry[]
  readonly asksPromise?: boolean
}
type WireAppendResponse = Promised & {
  readonly round: number
  readonly ok: boolean
  readonly matchIndex?: number
  readonly rejectedIndex?: number
  readonly hintIndex?: number
  readonly hintTerm?: number
}
type WireHeartbeat = {
  readonly commitIndex: number
  readonly round: number
  readonly asksPromise?: boolean
}
type WireTimeoutNow = {
  readonly lastIndex: number
  readonly voted?: boolean
  readonly acknowledgedIndex?: number
}
export type WireMessage = {
  readonly term: number
  readonly preVoteRequest?: WireVoteRequest | null
  readonly preVoteResponse?: { readonly granted: boolean } | null
  readonly voteRequest?: WireVoteRequest | null
  readonly voteResponse?: { readonly granted: boolean } | null
  readonly appendRequest?: WireAppendRequest | null
  readonly appendResponse?: WireAppendResponse | null
  readonly heartbeat?: WireHeartbeat | null
  readonly heartbeatResponse?: (Promised & { readonly round: number }) | null
  readonly timeoutNow?: WireTimeoutNow | null
  readonly readIndexRequest?: { readonly id: number; readonly linearizable: boolean } | null
  readonly readIndexResponse?: { readonly id: number; readonly index: number } | null
}
type WireFrame = { readonly messages: readonly WireMessage[] }
type WireAck = WireFrame & { readonly received: number }

/** Messages of one frame: a sender stops far earlier, by bytes. */
export const frameMessagesMax = 16_384
/** No election timeout that can be configured is longer (docs/operators.md). */
export const promiseMsMax = 60_000

const frames = wireType<WireFrame>('muster.raft.RaftFrame')
const acks = wireType<WireAck>('muster.raft.RaftAck')

const kindNumbers: Readonly<Record<EntryKind, number>> = { noop: 1, command: 2, configuration: 3 }
const kindNames: readonly (EntryKind | undefined)[] = [
  undefined,
  'noop',
  'command',
  'configuration',
]

export function encodeFrame(messages: readonly Message[]): Buffer {
  return frames.encode({ messages: messages.map(toWire) })
}

export function encodeAck(received: number, messages: readonly Message[] = []): Buffer {
  return acks.encode({ received, messages: messages.map(toWire) })
}

/** Throws MusterError `corrupt`. */
export function decodeFrame(bytes: Buffer, from: ServerId, to: ServerId): readonly Message[] {
  return messagesOf(decodeBytes(frames, bytes), from, to)
}

/** Throws MusterError `corrupt`. */
export function decodeAck(
  bytes: Buffer,
  from: ServerId,
  to: ServerId,
): { readonly received: number; readonly messages: readonly Message[] } {
  const ack = decodeBytes(acks, bytes)
  return { received: whole(ack.received, 'received'), messages: messagesOf(ack, from, to) }
}

function decodeBytes<Shape extends object>(
  type: { decode(bytes: Buffer): Shape },
  bytes: Buffer,
): Shape {
  try {
    return type.decode(bytes)
  } catch (error) {
    throw new MusterError('corrupt', 'a frame is not the protobuf message it should be', {
      cause: error,
    })
  }
}

function messagesOf(frame: WireFrame, from: ServerId, to: ServerId): readonly Message[] {
  if (frame.messages.length > frameMessagesMax) {
    throw malformed(`a frame holds ${frame.messages.length} messages, over ${frameMessagesMax}`)
  }
  return frame.messages.map((message) => fromWire(message, from, to))
}

/** The fields of the oneof come in the order of how often they are sent. */
export function fromWire(wire: WireMessage, from: ServerId, to: ServerId): Message {
  const envelope = { from, to, term: whole(wire.term, 'term') }
  if (wire.appendRequest) return appendRequestOf(wire.appendRequest, envelope)
  if (wire.appendResponse) return appendResponseOf(wire.appendResponse, envelope)
  if (wire.heartbeat) {
    const { commitIndex, round, asksPromise } = wire.heartbeat
    whole(commitIndex, 'commitIndex')
    whole(round, 'round')
    return { type: 'heartbeat', ...envelope, commitIndex, round, ...asked(asksPromise) }
  }
  if (wire.heartbeatResponse) {
    const round = whole(wire.heartbeatResponse.round, 'round')
    return { type: 'heartbeatResponse', ...envelope, round, ...promised(wire.heartbeatResponse) }
  }
  if (wire.readIndexRequest) {
    const { id, linearizable } = wire.readIndexRequest
    return { type: 'readIndexRequest', ...envelope, id: whole(id, 'id'), linearizable }
  }
  if (wire.readIndexResponse) {
    const { id, index } = wire.readIndexResponse
    whole(index, 'index')
    return { type: 'readIndexResponse', ...envelope, id: whole(id, 'id'), index }
  }
  if (wire.preVoteRequest) {
    const { lastIndex, lastTerm } = lastEntryOf(wire.preVoteRequest)
    return { type: 'preVoteRequest', ...envelope, lastIndex, lastTerm }
  }
  if (wire.voteRequest) {
    const { transfer } = wire.voteRequest
    return { type: 'voteRequest', ...envelope, ...lastEntryOf(wire.voteRequest), transfer }
  }
  if (wire.preVoteResponse) {
    return { type: 'preVoteResponse', ...envelope, granted: wire.preVoteResponse.granted }
  }
  if (wire.voteResponse) {
    return { type: 'voteResponse', ...envelope, granted: wire.voteResponse.granted }
  }
  if (wire.timeoutNow) return timeoutNowOf(wire.timeoutNow, envelope)
  throw malformed('a message is of a type this program does not know')
}

type Envelope = { readonly from: ServerId; readonly to: ServerId; readonly term: number }

/** Earlier programs ask for the election, and their vote has to be asked for. */
function timeoutNowOf(wire: WireTimeoutNow, envelope: Envelope): Message {
  const { voted = false, acknowledgedIndex = 0 } = wire
  const lastIndex = whole(wire.lastIndex, 'lastIndex')
  if (!(acknowledgedIndex >= 0 && acknowledgedIndex <= lastIndex)) {
    throw malformed(
      `a leader that hands over acknowledged ${acknowledgedIndex}, behind its last entry ${lastIndex}`,
    )
  }
  return { type: 'timeoutNow', ...envelope, lastIndex, voted, acknowledgedIndex }
}

function lastEntryOf(wire: WireVoteRequest): { lastIndex: number; lastTerm: number } {
  return {
    lastIndex: whole(wire.lastIndex, 'lastIndex'),
    lastTerm: whole(wire.lastTerm, 'lastTerm'),
  }
}

function appendRequestOf(wire: WireAppendRequest, envelope: Envelope): Message {
  const prevIndex = whole(wire.prevIndex, 'prevIndex')
  const prevTerm = whole(wire.prevTerm, 'prevTerm')
  let nextIndex = prevIndex + 1
  let lowestTerm = prevTerm
  const entries: Entry[] = []
  for (const entry of wire.entries) {
    if (entry.index !== nextIndex) {
      throw malformed(`an append's entry has index ${entry.index} instead of ${nextIndex}`)
    }
    // Terms never fall along a log, and no entry is of a later term than its sender (3.5).
    if (!(entry.term >= lowestTerm && entry.term <= envelope.term)) {
      throw malformed(
        `an append's entry ${entry.index} has term ${entry.term}, outside ${lowestTerm} to ${envelope.term}`,
      )
    }
    const kind = kindNames[entry.kind]
    if (kind === undefined) throw malformed(`entry ${entry.index} is of unknown kind ${entry.kind}`)
    if (kind === 'configuration') checkConfiguration(entry)
    entries.push({ index: entry.index, term: entry.term, kind, data: entry.data })
    lowestTerm = entry.term
    nextIndex += 1
  }
  whole(nextIndex, 'index')
  const commitIndex = whole(wire.commitIndex, 'commitIndex')
  const round = whole(wire.round, 'round')
  const checked = { prevIndex, prevTerm, entries, commitIndex, round }
  return { type: 'appendRequest', ...envelope, ...checked, ...asked(wire.asksPromise) }
}

function asked(asksPromise: boolean | undefined): { readonly asksPromise?: true } {
  return asksPromise === true ? { asksPromise } : {}
}

/** A leader counts on it: a length that no server can mean is refused. */
function promised({ promiseMs = 0, firm = false }: Promised): Promised {
  if (!(promiseMs >= 0 && promiseMs <= promiseMsMax)) {
    throw malformed(`a promise is for ${promiseMs} ms, it must be from 0 to ${promiseMsMax}`)
  }
  return promiseMs === 0 ? {} : { promiseMs, firm }
}

/** The core reads it when it appends it, and must be able to. */
function checkConfiguration({ index, data }: WireEntry): void {
  try {
    decodeConfiguration(data)
  } catch (error) {
    throw malformed(`entry ${index} is no configuration: ${textOf(error)}`)
  }
}

function appendResponseOf(wire: WireAppendResponse, envelope: Envelope): AppendResponse {
  const round = whole(wire.round, 'round')
  if (wire.ok) {
    const matchIndex = whole(wire.matchIndex ?? 0, 'matchIndex')
    return { type: 'appendResponse', ...envelope, round, ok: true, matchIndex, ...promised(wire) }
  }
  const rejectedIndex = whole(wire.rejectedIndex ?? 0, 'rejectedIndex')
  const hintIndex = whole(wire.hintIndex ?? 0, 'hintIndex')
  const hintTerm = whole(wire.hintTerm ?? 0, 'hintTerm')
  if (hintIndex > rejectedIndex) {
    throw malformed(`an append's refusal of ${rejectedIndex} points ahead, to ${hintIndex}`)
  }
  const refused = { round, ok: false, rejectedIndex, hintIndex, hintTerm } as const
  return { type: 'appendResponse', ...envelope, ...refused, ...promised(wire) }
}

/** `from` and `to` do not travel. */
export function toWire(message: Message): WireMessage {
  const { term } = message
  switch (message.type) {
    case 'appendRequest': {
      const entries = message.entries.map((entry) => ({ ...entry, kind: kindNumbers[entry.kind] }))
      const { prevIndex, prevTerm, commitIndex, round, asksPromise = false } = message
      const fields = { prevIndex, prevTerm, commitIndex, round, entries, asksPromise }
      return { term, appendRequest: fields }
    }
    case 'appendResponse':
      return { term, appendResponse: message }
    case 'heartbeat':
      return { term, heartbeat: message }
    case 'heartbeatResponse':
      return { term, heartbeatResponse: message }
    case 'preVoteRequest': {
      const { lastIndex, lastTerm } = message
      return { term, preVoteRequest: { lastIndex, lastTerm, transfer: false } }
    }
    case 'preVoteResponse':
      return { term, preVoteResponse: message }
    case 'voteRequest':
      return { term, voteRequest: message }
    case 'voteResponse':
      return { term, voteResponse: message }
    case 'timeoutNow':
      return { term, timeoutNow: message }
    case 'readIndexRequest':
      return { term, readIndexRequest: message }
    case 'readIndexResponse':
      return { term, readIndexResponse: message }
    default:
      return assertNever(message)
  }
}

/** About what the message takes in a frame; what queues are bounded by. */
export function messageBytes(message: Message): number {
  if (message.type !== 'appendRequest') return 48
  let bytes = 64
  for (const entry of message.entries) bytes += entry.data.length + 32
  return bytes
}

function whole(value: number, field: string): number {
  // Above 2^53 numbers are rounded, so a larger one can only be refused, never used.
  if (Number.isSafeInteger(value)) return value
  throw malformed(`${field} is ${value}, it must be below 2^53`)
}

function malformed(sentence: string): MusterError {
  return new MusterError('corrupt', sentence)
}
