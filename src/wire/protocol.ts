/**
 * What all traffic between servers has in common: encoding, the handshake, outgoing connections, the one gRPC
 * server of a process. Knows neither consensus nor calls; `raft/transport`, `rpc` and `server` may import it.
 * It imports `lib`, gRPC and protobufjs. Its invariant: a stream that a user of this folder sees has passed the
 * handshake, so the other side's id, its cluster and the protocol version are settled.
 *
 * This file reads `proto/*.proto` and makes encoders and decoders of them.
 */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'

/** In the order of their imports. */
const protoFiles = ['handshake.proto', 'raft.proto', 'server.proto'] as const

/** A bundle has no files beside it: its build puts what they say here, parsed and as JSON. */
declare const bundledProtocol: string | undefined

/**
 * `Shape` is the TypeScript picture of one message: every field of it is optional on the wire, so decoding fills
 * in proto3's defaults (0, '', false, empty, null for a message), never undefined.
 */
export type WireType<Shape extends object> = {
  encode(value: Shape): Buffer
  /**
   * Bytes fields are views into `bytes`, not copies. Integers may be out of the safe range: the codecs check.
   * Throws on anything that is not this message.
   */
  decode(bytes: Buffer): Shape
}

function loadRoot(): protobuf.Root {
  // Without its Long class protobufjs hands out 64-bit integers as numbers. Those above 2^53 come out rounded,
  // never as a smaller number, so that the codecs' range check refuses them all.
  Reflect.set(protobuf.util, 'Long', null)
  protobuf.configure()
  const root = readRoot()
  root.resolveAll()
  return root
}

function readRoot(): protobuf.Root {
  if (typeof bundledProtocol === 'string') {
    return protobuf.Root.fromJSON(JSON.parse(bundledProtocol))
  }
  const root = new protobuf.Root()
  for (const file of protoFiles) {
    const text = readFileSync(new URL(`../../proto/${file}`, import.meta.url), 'utf8')
    protobuf.parse(text, root, { keepCase: false })
  }
  return root
}

const root = loadRoot()

/**
 * Tags, lengths and numbers of one message. The fullest frame that this program sends has a quarter of it; without a bound
 * one frame of empty elements becomes objects of a hundred times its size.
 */
const partsMax = 512 * 1024

class Reader extends protobuf.BufferReader {
  /**
   * One of up to 4 bytes without an object for its halves. And whatever fits is what V8 calls a small integer: protobufjs makes
   * a double of each by a product, which is an object of its own and makes doubles of all that is counted from it.
   */
  override uint64(): protobuf.Long {
    const { buf, pos, len } = this
    let value = 0
    for (let at = 0; at < 4 && pos + at < len; at += 1) {
      const byte = buf[pos + at] ?? 0
      value |= (byte & 0x7f) << (7 * at)
      if (byte < 0x80) {
        this.pos = pos + at + 1
        return numberOf(value)
      }
    }
    // protobufjs takes one of three or four bytes that has no end for whole.
    if (len - pos <= 4) throw new RangeError('a number ends in the middle')
    const large = Number(super.uint64())
    return numberOf(large === (large | 0) ? large | 0 : large)
  }
}

/** Long's place in protobufjs' types: without that class its readers return numbers. */
function numberOf(value: unknown): protobuf.Long {
  return value as protobuf.Long
}

class BoundedReader extends Reader {
  #parts = 0

  override uint32(): number {
    this.#count()
    return super.uint32()
  }

  override uint64(): protobuf.Long {
    this.#count()
    return super.uint64()
  }

  #count(): void {
    this.#parts += 1
    if (this.#parts > partsMax) throw new RangeError(`a message has over ${partsMax} parts`)
  }
}

/** Every part takes a byte, so only a large frame can have too many. */
function readerOf(bytes: Buffer): protobuf.Reader {
  return bytes.length > partsMax ? new BoundedReader(bytes) : new Reader(bytes)
}

/** The encoder and decoder of a message by its full name, `muster.raft.RaftFrame`. */
export function wireType<Shape extends object>(name: string): WireType<Shape> {
  const type = root.lookupType(name).setup()
  return {
    // `finish` returns a Buffer on Node: the writer allocates from Node's pool.
    encode: (value) => type.encode(value).finish() as Buffer,
    // The generated decoder builds exactly the declared fields with the declared wire types.
    decode: (bytes) => type.decode(readerOf(bytes)) as unknown as Shape,
  }
}
