/**
 * Packets from outside in: label, encryption, checksum, compression, compound, messages. `PacketWire` builds and reads
 * them for one node; what it refuses it counts.
 */
import { crc32 } from 'node:zlib'
import type { PacketMessage } from '../core/message.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { compressedBounds, deflated, inflated } from './compression.ts'
import type { RefusalReason, WireCounters } from './counters.ts'
import { looksSealed, sealOverheadBytes, type Keyring } from './keyring.ts'
import { kind } from './kinds.ts'
import { labelBytes, labelHeader, readLabel, sameBytes } from './label.ts'
import { readValue } from './msgpack.ts'

/** What passes any path of today without being cut into pieces, the limit of memberlist. */
export const packetBytesMax = 1400
/** What UDP can carry at all. */
const datagramBytesMax = 65_507
const checksumBytes = 5
const compoundHeaderBytes = 2
/** What each message of a compound adds to its own length. */
const compoundElementBytes = 2
const compoundElementsMax = 255
/** Compression and compound within one another; other programs nest two deep. */
const nestingMax = 4
/** What one packet may become, over all its compressed parts. */
const inflatedBytesMax = 4 * 65_536
/** Elements of one packet, over all compounds. */
const elementsMax = 4096

export type WireOptions = {
  /** Empty for none. */
  readonly label: string
  /** Null for no encryption. */
  readonly keyring: Keyring | null
  readonly compress: boolean
  readonly counters: WireCounters
}

export class PacketWire {
  readonly #label: Uint8Array
  readonly #options: WireOptions

  /** Throws invalid_argument for a label over 255 bytes. */
  constructor(options: WireOptions) {
    this.#options = options
    this.#label = labelBytes(options.label)
  }

  /**
   * What is left of a packet for messages, or for a compound of them: two bytes, and two for each message beside its
   * own. A sender that joins messages stays within this, or they are sent in several packets.
   */
  get contentBytesMax(): number {
    return packetBytesMax - this.#outerBytes
  }

  /**
   * Packets of at most 1,400 bytes with these messages in this order. A message that needs more has a packet of its
   * own; one that no datagram can carry is left out. `checksum` only for receivers whose protocol maximum is 5 or more.
   */
  encode(
    messages: readonly PacketMessage[],
    { checksum }: { readonly checksum: boolean },
  ): readonly Uint8Array[] {
    const packets: Uint8Array[] = []
    let group: Uint8Array[] = []
    let groupBytes = compoundHeaderBytes
    const flush = (): void => {
      if (group.length > 0) packets.push(this.#sealed(joined(group), checksum))
      group = []
      groupBytes = compoundHeaderBytes
    }
    for (const message of messages) {
      const bytes = encodeMessage(message)
      if (bytes.length + this.#outerBytes > datagramBytesMax) continue
      const needed = bytes.length + compoundElementBytes
      const over = groupBytes + needed > this.contentBytesMax
      if (over || group.length === compoundElementsMax) flush()
      group.push(bytes)
      groupBytes += needed
    }
    flush()
    return packets
  }

  /** What a packet holds that can be read; empty when it is refused, and `onRefused` is told why. */
  decode(
    packet: Uint8Array,
    onRefused?: (reason: RefusalReason) => void,
  ): readonly PacketMessage[] {
    const content = this.#opened(packet)
    if (typeof content === 'string') {
      onRefused?.(content)
      return this.#refuse(content)
    }
    const elements = new Elements()
    elements.take(content, 0)
    if (elements.messages.length === 0) {
      return this.#refuse(elements.overBound ? 'too-large' : 'broken')
    }
    const { packets, messages } = this.#options.counters
    packets.accepted += 1
    messages.accepted += elements.messages.length
    messages.refused += elements.refused
    return elements.messages
  }

  get #outerBytes(): number {
    const sealed = this.#options.keyring === null ? 0 : sealOverheadBytes
    return labelHeader(this.#label).length + sealed + checksumBytes
  }

  #sealed(content: Uint8Array, checksum: boolean): Uint8Array {
    const { keyring, compress } = this.#options
    const smaller = compress ? deflated(content) : content
    const checked = checksum ? withChecksum(smaller) : smaller
    const sealed = keyring === null ? checked : keyring.seal(checked, this.#label)
    if (this.#label.length === 0) return sealed
    return Buffer.concat([labelHeader(this.#label), sealed])
  }

  /** The packet without label, encryption and checksum. */
  #opened(packet: Uint8Array): Uint8Array | RefusalReason {
    const labelled = readLabel(packet)
    if (labelled.type !== 'label') return 'broken'
    if (!sameBytes(labelled.label, this.#label)) return 'wrong-label'
    const inner = packet.subarray(labelled.next)
    const { keyring } = this.#options
    if (keyring === null) {
      const content = withoutChecksum(inner)
      if (content !== null && looksSealed(content) && decodeMessage(content) === null) {
        return 'wrong-key'
      }
      return content ?? 'broken'
    }
    const plain = keyring.open(inner, this.#label)
    if (plain !== null) return withoutChecksum(plain) ?? 'broken'
    // A ping and an indirect ping begin like something sealed, with 0 and 1.
    if (inner.length === 0) return 'broken'
    if ((inner[0] ?? 0) > 1 || decodeMessage(inner) !== null) return 'plain'
    return looksSealed(inner) ? 'wrong-key' : 'broken'
  }

  #refuse(reason: RefusalReason): readonly PacketMessage[] {
    this.#options.counters.packets.refused[reason] += 1
    return []
  }
}

function joined(group: readonly Uint8Array[]): Uint8Array {
  const [only] = group
  if (only !== undefined && group.length === 1) return only
  const head = new Uint8Array(compoundHeaderBytes + group.length * compoundElementBytes)
  head[0] = kind.compound
  head[1] = group.length
  group.forEach(({ length }, index) => {
    const at = compoundHeaderBytes + index * compoundElementBytes
    head[at] = length >>> 8
    head[at + 1] = length & 0xff
  })
  return Buffer.concat([head, ...group])
}

function withChecksum(content: Uint8Array): Uint8Array {
  const head = Buffer.alloc(checksumBytes)
  head[0] = kind.checksum
  head.writeUInt32BE(crc32(content), 1)
  return Buffer.concat([head, content])
}

/** The content behind a checksum that agrees, or as it is without one; null when it does not agree. */
function withoutChecksum(bytes: Uint8Array): Uint8Array | null {
  if (bytes[0] !== kind.checksum) return bytes
  if (bytes.length < checksumBytes) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const content = bytes.subarray(checksumBytes)
  return view.getUint32(1) === crc32(content) ? content : null
}

/** Unfolds compounds and compression of one packet under the packet's bounds. */
class Elements {
  readonly messages: PacketMessage[] = []
  refused = 0
  overBound = false
  #inflatedBytesLeft = inflatedBytesMax
  #elementsLeft = elementsMax

  take(bytes: Uint8Array, depth: number): void {
    const [first] = bytes
    this.#elementsLeft -= 1
    if (depth > nestingMax || this.#elementsLeft < 0) {
      this.overBound = true
      this.refused += 1
    } else if (first === kind.compound) {
      this.#takeCompound(bytes, depth)
    } else if (first === kind.compressed) {
      this.#takeCompressed(bytes, depth)
    } else {
      const message = decodeMessage(bytes)
      if (message === null) this.refused += 1
      else this.messages.push(message)
    }
  }

  /** Elements before the place where it is cut off are as good as ever. */
  #takeCompound(bytes: Uint8Array, depth: number): void {
    const count = bytes[1] ?? 0
    let start = compoundHeaderBytes + count * compoundElementBytes
    if (count === 0 || start > bytes.length) {
      this.refused += 1
      return
    }
    for (let index = 0; index < count; index++) {
      const at = compoundHeaderBytes + index * compoundElementBytes
      const end = start + (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)
      if (end > bytes.length || this.overBound) {
        this.refused += count - index
        return
      }
      this.take(bytes.subarray(start, end), depth + 1)
      start = end
    }
  }

  #takeCompressed(bytes: Uint8Array, depth: number): void {
    const read = readValue(bytes, 1, compressedBounds(datagramBytesMax))
    const content = read.type === 'value' ? inflated(read.value, this.#inflatedBytesLeft) : null
    if (content === null || content === 'too-large') {
      this.refused += 1
      if (content === 'too-large') this.overBound = true
      return
    }
    this.#inflatedBytesLeft -= content.length
    this.take(content, depth + 1)
  }
}
