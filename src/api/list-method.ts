/**
 * The HTTP method LIST, which Vault's clients send and Node's parser rejects. Where the parser finds an unknown method, and
 * nowhere else, a request line that begins with `LIST ` is given to it again as LINK, which it knows; `takes` tells such
 * a request from a LINK that a client sent. The parser alone decides where a request begins, so these letters in a body
 * mean nothing.
 *
 * It is also seen here that bytes were lost: where a request asks for another protocol and goes on as HTTP, Node's parser drops what
 * came behind it in the same packet, so that the middle of a body could be taken for a request.
 *
 * Node has no public way to restart a parser after an error. The parts of it that are used here are looked for once per
 * connection: a Node without them rejects LIST as before.
 */
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** What LIST is called between Node's parser and the router: as long as `LIST`, so that it is written over it. */
export const listAlias = 'LINK'

const requestLine = 'LIST '
/** The parser follows a method it knows as far as it can: `LI` of LINK, but also of UNLINK. */
const known = 'LI'
const knownOfOther = 'UNLI'
const keptBytes = knownOfOther.length

/** Node's `HTTPParser`. Its listeners have numbers. */
type Parser = {
  initialize(type: number, resource: object, headMax: number, lenient: number, all: object): void
  /** Undoes the last argument of `initialize`. */
  remove(): void
  /** A copy of the packet, in a call of `onExecuted`. */
  getCurrentBuffer(): Buffer
  /** The last request whose head is complete, or null. */
  incoming: unknown
}

type WatchedParser = Parser & {
  /** Node's own listener, called after each packet with its length or the error. */
  nodeExecuted: (result: unknown) => void
  /** From the first byte of a request until its head was found complete. */
  isHead: boolean
  /** The last bytes before this packet if a head was incomplete there. */
  head: Buffer | null
  /** The request that is read asks for another protocol in vain. */
  isInVain: boolean
  readonly onLost: () => void
}

type ListConnection = {
  /** Of a request line that may become `LIST `; the parser stays at its error meanwhile. */
  begun: Buffer | null
  /** What the parser gets next. */
  rest: Buffer | null
  isFeeding: boolean
  /** The next request of this connection is a LIST. */
  isNext: boolean
}

const onMessageBegin = 0
const onExecute = 5
const typeRequest = 1
const noBytes = Buffer.alloc(0)

export class ListMethod {
  readonly #connections = new WeakMap<object, ListConnection>()

  /** A new connection, once Node's parser reads it. `onLost`: no request that comes after these is one. */
  watch(socket: object, onLost: () => void): void {
    const parser = parserOf(socket)
    if (parser === null) return
    const nodeExecuted: unknown = Reflect.get(parser, onExecute)
    if (typeof nodeExecuted !== 'function') return
    Object.assign(parser, { nodeExecuted, isHead: false, head: null, isInVain: false, onLost })
    Reflect.set(parser, onMessageBegin, begin)
    Reflect.set(parser, onExecute, executed)
  }

  /** The request whose head just came asks for another protocol, and goes on as HTTP. */
  asksInVain(socket: object): void {
    const parser = parserOf(socket)
    if (parser === null || !isWatched(parser)) return
    parser.isInVain = true
    // What is fed is not executed by Node.
    if (this.#connections.get(socket)?.isFeeding === true) parser.onLost()
  }

  /** Whether the LINK that came is a LIST: true once for each. */
  takes(socket: object): boolean {
    const connection = this.#connections.get(socket)
    if (connection?.isNext !== true) return false
    connection.isNext = false
    return true
  }

  /** Whether the parser's error was a LIST, which is parsed then, or will be when the rest of its method is there. */
  resume(server: Server, error: Error, socket: Duplex): boolean {
    if (!('code' in error) || error.code !== 'HPE_INVALID_METHOD') return false
    if (!('rawPacket' in error && 'bytesParsed' in error)) return false
    const { rawPacket: packet, bytesParsed } = error
    const parser = parserOf(socket)
    if (parser === null || !isWatched(parser) || !Buffer.isBuffer(packet)) return false
    const connection = this.#of(socket)
    const line =
      connection.begun === null
        ? lineOf(parser.head ?? noBytes, packet, Number(bytesParsed))
        : Buffer.concat([connection.begun, packet])
    const start = line?.toString('latin1', 0, requestLine.length)
    if (line === null || start === undefined || !requestLine.startsWith(start)) return false
    connection.begun = start === requestLine ? null : line
    if (connection.begun !== null) return true
    if (!restart(parser, server, socket)) return false
    line.write(listAlias, 'latin1')
    connection.isNext = true
    connection.rest = line
    // Within a call of itself: the outer one goes on with it. One packet may hold thousands.
    if (!connection.isFeeding) feed(parser, connection, socket)
    return true
  }

  #of(socket: object): ListConnection {
    const known = this.#connections.get(socket)
    if (known !== undefined) return known
    const connection = { begun: null, rest: null, isFeeding: false, isNext: false }
    this.#connections.set(socket, connection)
    return connection
  }
}

/** `packet` from the first byte of a request that begins with `LI`; null if what the parser rejects does not. */
function lineOf(head: Buffer, packet: Buffer, bytesParsed: number): Buffer | null {
  const before = Buffer.concat([
    head,
    packet.subarray(Math.max(0, bytesParsed - keptBytes), bytesParsed),
  ]).toString('latin1')
  // A body that ends in UN, with a LIST right behind it in one packet, looks the same and is refused too.
  if (!before.endsWith(known) || before.endsWith(knownOfOther)) return null
  if (bytesParsed >= known.length) return packet.subarray(bytesParsed - known.length)
  return Buffer.concat([Buffer.from(known), packet.subarray(bytesParsed)])
}

/** Gives the parser what it has not seen, as Node does with packets that it reads itself. */
function feed(parser: WatchedParser, connection: ListConnection, socket: Duplex): void {
  connection.isFeeding = true
  while (connection.rest !== null && !socket.destroyed) {
    // Too many answers wait for the client, or a body for its reader.
    if (socket.isPaused()) {
      socket.once('resume', () => feed(parser, connection, socket))
      break
    }
    const bytes: Buffer = connection.rest
    connection.rest = null
    socket.emit('data', bytes)
    if (connection.rest === null && parserOf(socket) === parser) noteHead(parser, bytes)
  }
  connection.isFeeding = false
}

/** False when this Node does it otherwise. */
function restart(parser: WatchedParser, server: Server, socket: Duplex): boolean {
  const connections = Object.getOwnPropertySymbols(server)
    .filter(({ description }) => description === 'http.server.connections')
    .map((symbol): unknown => Reflect.get(server, symbol))[0]
  if (typeof connections !== 'object' || connections === null) return false
  const headBytesMax: unknown = Reflect.get(server, 'maxHeaderSize')
  parser.remove()
  const resource = { type: 'HTTPINCOMINGMESSAGE', socket }
  parser.initialize(typeRequest, resource, Number(headBytesMax ?? 0), 0, connections)
  parser.head = null
  return true
}

function begin(this: WatchedParser): void {
  this.isHead = true
  this.head = null
  this.incoming = null
  this.isInVain = false
}

function executed(this: WatchedParser, result: unknown): void {
  if (this.isHead && typeof result === 'number') {
    if (this.incoming === null) noteHead(this, this.getCurrentBuffer())
    else this.isHead = false
  }
  const wasLost =
    this.isInVain && typeof result === 'number' && result < this.getCurrentBuffer().length
  this.nodeExecuted(result)
  if (wasLost) this.onLost()
}

function noteHead(parser: WatchedParser, packet: Buffer): void {
  if (!parser.isHead || parser.incoming !== null) return
  parser.head = Buffer.concat([parser.head ?? noBytes, packet.subarray(-keptBytes)]).subarray(
    -keptBytes,
  )
}

function parserOf(socket: object): Parser | null {
  const parser: unknown = Reflect.get(socket, 'parser')
  return isParser(parser) ? parser : null
}

function isParser(value: unknown): value is Parser {
  return (
    typeof value === 'object' &&
    value !== null &&
    'incoming' in value &&
    ['initialize', 'remove', 'getCurrentBuffer'].every(
      (name) => typeof Reflect.get(value, name) === 'function',
    )
  )
}

function isWatched(parser: Parser): parser is WatchedParser {
  return 'nodeExecuted' in parser && 'head' in parser
}
