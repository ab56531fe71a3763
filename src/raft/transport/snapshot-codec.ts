/**
 * The frames of a snapshot's stream to protobuf and back, checked like messages are: see `codec.ts`.
 */
import { promisify } from 'node:util'
import { constants, crc32, zstdCompress, zstdDecompress } from 'node:zlib'
import { type ErrorCode, isErrorCode, MusterError, textOf } from '../../lib/errors.ts'
import { wireType } from '../../wire/protocol.ts'
import type { Configuration, Member, SnapshotMeta, Term } from '../core/message.ts'
import { membersMax } from '../core/membership.ts'
import { predecessorsMax } from '../core/succession.ts'

export type SnapshotOffer = {
  readonly type: 'offer'
  readonly term: Term
  readonly id: string
  readonly meta: SnapshotMeta
}
export type SnapshotChunk = {
  readonly type: 'chunk'
  readonly number: number
  readonly crc32: number
  readonly compressed: boolean
  readonly data: Uint8Array
}
export type SnapshotEnd = { readonly type: 'end'; readonly sha256: string; readonly count: number }
export type SnapshotFrame = SnapshotOffer | SnapshotChunk | SnapshotEnd

export type SnapshotReply =
  | { readonly type: 'accepted'; readonly received: number }
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'progress'; readonly received: number }
  | { readonly type: 'done' }

/** Before compression, and the most that a receiver will unpack one chunk to. */
export const chunkBytesMax = 1024 * 1024
/** From this protocol version on chunks are compressed. */
export const compressionVersion = 2

const textLengthMax = 1024
/** Of a frame, whatever is in it: a chunk, or an offer with all members. */
export const snapshotFrameBytesMax = 2 * chunkBytesMax

type WireMember = {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly role: number
}
type WireMeta = {
  readonly index: number
  readonly term: number
  readonly configurationIndex: number
  readonly clusterId: string
  readonly members: readonly WireMember[]
  readonly predecessors: readonly string[]
  readonly beginsAt: number
}
type WireFrame = {
  readonly offer?: { readonly term: number; readonly id: string; readonly meta: WireMeta | null }
  readonly chunk?: {
    readonly number: number
    readonly crc32: number
    readonly compression: number
    readonly data: Uint8Array
  }
  readonly end?: { readonly sha256: string; readonly count: number }
}
type WireReply = {
  readonly accepted?: { readonly received: number }
  readonly refused?: { readonly code: string; readonly message: string }
  readonly progress?: { readonly received: number }
  readonly done?: Record<string, never>
}

const frames = wireType<WireFrame>('muster.raft.SnapshotFrame')
const replies = wireType<WireReply>('muster.raft.SnapshotReply')

const roleNumbers: Readonly<Record<Member['role'], number>> = { voter: 1, learner: 2 }
const roleNames: readonly (Member['role'] | undefined)[] = [undefined, 'voter', 'learner']

export function encodeSnapshotFrame(frame: SnapshotFrame): Buffer {
  switch (frame.type) {
    case 'offer': {
      const { configuration, index, term, configurationIndex } = frame.meta
      const members = configuration.members.map((member) => ({
        ...member,
        role: roleNumbers[member.role],
      }))
      const { clusterId, succession } = configuration
      const meta: WireMeta = {
        index,
        term,
        configurationIndex,
        clusterId,
        members,
        predecessors: succession?.predecessors ?? [],
        beginsAt: succession?.beginsAt ?? 0,
      }
      return frames.encode({ offer: { term: frame.term, id: frame.id, meta } })
    }
    case 'chunk': {
      const { number, crc32, data } = frame
      return frames.encode({
        chunk: { number, crc32, compression: frame.compressed ? 1 : 0, data },
      })
    }
    case 'end':
      return frames.encode({ end: { sha256: frame.sha256, count: frame.count } })
  }
}

/** Throws MusterError `corrupt`. */
export function decodeSnapshotFrame(bytes: Buffer): SnapshotFrame {
  const { offer, chunk, end } = decoded(() => frames.decode(bytes))
  if (chunk) {
    if (chunk.compression > 1) throw malformed('a chunk is compressed in an unknown way')
    const { crc32, data } = chunk
    const number = whole(chunk.number, 'number')
    return { type: 'chunk', number, crc32, compressed: chunk.compression === 1, data }
  }
  if (end) {
    if (!/^[0-9a-f]{64}$/.test(end.sha256)) throw malformed('sha256 is not 64 hex digits')
    return { type: 'end', sha256: end.sha256, count: whole(end.count, 'count') }
  }
  if (offer?.meta) {
    const id = text(offer.id, 'id')
    return { type: 'offer', term: whole(offer.term, 'term'), id, meta: metaOf(offer.meta) }
  }
  throw malformed('a snapshot frame is of a type this program does not know')
}

export function encodeSnapshotReply(reply: SnapshotReply): Buffer {
  switch (reply.type) {
    case 'accepted':
      return replies.encode({ accepted: { received: reply.received } })
    case 'refused':
      return replies.encode({ refused: { code: reply.code, message: reply.message } })
    case 'progress':
      return replies.encode({ progress: { received: reply.received } })
    case 'done':
      return replies.encode({ done: {} })
  }
}

/** Throws MusterError `corrupt`. */
export function decodeSnapshotReply(bytes: Buffer): SnapshotReply {
  const { accepted, refused, progress, done } = decoded(() => replies.decode(bytes))
  if (progress) return { type: 'progress', received: whole(progress.received, 'received') }
  if (accepted) return { type: 'accepted', received: whole(accepted.received, 'received') }
  if (done) return { type: 'done' }
  if (refused) {
    const code = isErrorCode(refused.code) ? refused.code : 'internal'
    return { type: 'refused', code, message: refused.message.slice(0, textLengthMax) }
  }
  throw malformed('a snapshot reply is of a type this program does not know')
}

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** As it travels: compressed if both sides can and it helps. */
export async function packChunk(
  number: number,
  data: Uint8Array,
  version: number,
): Promise<SnapshotChunk> {
  const plain = { type: 'chunk', number, crc32: crc32(data), compressed: false, data } as const
  if (version < compressionVersion) return plain
  const packed = await compress(data, level)
  return packed.length < data.length ? { ...plain, compressed: true, data: packed } : plain
}

/** The bytes as they were before `packChunk`. Rejects with MusterError `corrupt`. */
export async function unpackChunk(chunk: SnapshotChunk, version: number): Promise<Uint8Array> {
  let { data } = chunk
  if (chunk.compressed) {
    if (version < compressionVersion) {
      throw malformed(`chunk ${chunk.number} is compressed, which version ${version} does not have`)
    }
    try {
      data = await decompress(data, { maxOutputLength: chunkBytesMax })
    } catch (error) {
      throw malformed(`chunk ${chunk.number} cannot be unpacked: ${textOf(error)}`)
    }
  }
  if (data.length > chunkBytesMax) throw malformed(`chunk ${chunk.number} is over 1 MiB`)
  if (crc32(data) !== chunk.crc32) {
    throw malformed(`chunk ${chunk.number} does not match its checksum`)
  }
  return data
}

function metaOf(meta: WireMeta): SnapshotMeta {
  if (meta.members.length > membersMax) throw malformed('a configuration has too many members')
  const members = meta.members.map((member) => {
    const role = roleNames[member.role]
    const { name, address } = member
    const id = text(member.id, 'id')
    if (role === undefined) throw malformed(`member ${id} has no known role`)
    return { id, name: text(name, 'name'), address: text(address, 'address'), role }
  })
  const index = whole(meta.index, 'index')
  const configurationIndex = whole(meta.configurationIndex, 'configurationIndex')
  if (configurationIndex > index) {
    throw malformed(`the configuration of index ${configurationIndex} is after index ${index}`)
  }
  const plain = { clusterId: text(meta.clusterId, 'clusterId'), members }
  if (meta.predecessors.length > predecessorsMax) {
    throw malformed('a cluster has too many predecessors')
  }
  const predecessors = meta.predecessors.map((id) => text(id, 'predecessors'))
  const beginsAt = whole(meta.beginsAt, 'beginsAt')
  const configuration: Configuration =
    predecessors.length === 0 ? plain : { ...plain, succession: { predecessors, beginsAt } }
  return { index, term: whole(meta.term, 'term'), configuration, configurationIndex }
}

function decoded<Shape>(decode: () => Shape): Shape {
  try {
    return decode()
  } catch (error) {
    throw new MusterError('corrupt', 'a frame is not the protobuf message it should be', {
      cause: error,
    })
  }
}

function whole(value: number, field: string): number {
  if (Number.isSafeInteger(value)) return value
  throw malformed(`${field} is ${value}, it must be below 2^53`)
}

function text(value: string, field: string): string {
  if (value.length <= textLengthMax) return value
  throw malformed(`${field} is ${value.length} characters long, over ${textLengthMax}`)
}

function malformed(sentence: string): MusterError {
  return new MusterError('corrupt', sentence)
}
