/**
 * The first frame both ways on every stream: who speaks, for which cluster, in which versions. Pure.
 */
import { MusterError } from '../lib/errors.ts'
import { wireType } from './protocol.ts'

export type WireIdentity = {
  /** '' before the cluster is founded: then any matches. */
  readonly clusterId: string
  readonly serverId: string
  /** Ids of the clusters that this server's was recovered from; for saying so. */
  readonly predecessors?: readonly string[]
}

/** Protocol versions a program can speak, inclusive. */
export type VersionRange = { readonly min: number; readonly max: number }

/** 1: the first. 2: snapshot chunks travel compressed. */
export const supportedVersions: VersionRange = { min: 1, max: 2 }

export type Hello = {
  readonly versionMin: number
  readonly versionMax: number
  readonly clusterId: string
  readonly from: string
  readonly to: string
}

/** What a stream's owner knows about the other side once the handshake is through. */
export type RemotePeer = {
  readonly id: string
  readonly clusterId: string
  /** The version both use on this stream. */
  readonly version: number
}

const nameLengthMax = 256

const opening = wireType<{ readonly hello: Hello | null }>('muster.wire.Opening')

/** The opening frame; `to` is '' when the other side's id is not known. */
export function encodeHello(own: WireIdentity, versions: VersionRange, to: string): Buffer {
  const { clusterId, serverId } = own
  const { min, max } = versions
  return opening.encode({
    hello: { versionMin: min, versionMax: max, clusterId, from: serverId, to },
  })
}

/**
 * Reads the other side's opening frame and settles the version. `expected` is the id that must answer, '' for any.
 * Throws `incompatible` with a sentence that says what does not fit.
 */
export function acceptHello(
  frame: Buffer,
  own: WireIdentity,
  versions: VersionRange,
  expected: string,
): RemotePeer {
  const hello = readHello(frame)
  if (own.predecessors?.includes(hello.clusterId) === true) {
    throw refusal(
      `server ${hello.from} is of cluster ${hello.clusterId}, which was recovered without it as cluster ${own.clusterId}: to join it, stop the server, move its data folder away and start it with an empty one`,
    )
  }
  if (own.clusterId !== '' && hello.clusterId !== '' && own.clusterId !== hello.clusterId) {
    throw refusal(
      `server ${hello.from} belongs to cluster ${hello.clusterId}, this is server ${own.serverId} of cluster ${own.clusterId}`,
    )
  }
  if (hello.to !== '' && hello.to !== own.serverId) {
    throw refusal(
      `server ${hello.from} wants to reach server ${hello.to} at this address, but this is server ${own.serverId}`,
    )
  }
  if (expected !== '' && hello.from !== expected) {
    throw refusal(
      `server ${expected} was expected at this address, but server ${hello.from} is here`,
    )
  }
  const version = Math.min(versions.max, hello.versionMax)
  if (version < Math.max(versions.min, hello.versionMin)) {
    throw refusal(
      `server ${hello.from} speaks protocol versions ${hello.versionMin} to ${hello.versionMax}, server ${own.serverId} speaks ${versions.min} to ${versions.max}: they have none in common`,
    )
  }
  return { id: hello.from, clusterId: hello.clusterId, version }
}

function readHello(frame: Buffer): Hello {
  let hello: Hello | null = null
  try {
    hello = opening.decode(frame).hello
  } catch {
    // Falls through to the refusal below: the exact fault of foreign bytes does not help.
  }
  if (hello === null) throw refusal('the first frame of a stream must be a handshake')
  for (const text of [hello.clusterId, hello.from, hello.to]) {
    if (text.length > nameLengthMax || /[^\x21-\x7e]/.test(text)) {
      throw refusal(`an id in a handshake must be at most ${nameLengthMax} printable characters`)
    }
  }
  if (hello.from === '') throw refusal('a handshake must name the server that sends it')
  if (hello.versionMin < 1 || hello.versionMax < hello.versionMin) {
    throw refusal(
      `server ${hello.from} offers the impossible range of protocol versions ${hello.versionMin} to ${hello.versionMax}`,
    )
  }
  return hello
}

function refusal(sentence: string): MusterError {
  return new MusterError('incompatible', sentence)
}
