/**
 * A connected socket that hands on whole LDAP messages and nothing else. The package that reads them keeps what it cannot
 * parse, joins it anew with every packet, and takes any message for an answer that has the right number; so this is in front
 * of it. A message must be well framed, answer a request that is under way, and be of a kind that answers such a request. What
 * one operation may bring is bounded in bytes and in messages. Whatever breaks a rule ends the connection.
 */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { assert } from '../../lib/assert.ts'
import { DirectoryError } from './directory-error.ts'

/** What one operation of a directory may answer, all its pages together. */
export const answerBytesMax = 8 * 1024 * 1024
export const answerMessagesMax = 20_000

/** Requests under way at a time on one connection. */
export const requestsMax = 64

/** By the tag of a request, the tags of its answers (RFC 4511, 4.1.1). */
const answers: ReadonlyMap<number, readonly number[]> = new Map([
  [0x60, [0x61]], // bind
  [0x63, [0x64, 0x65, 0x73]], // search: entry, done, reference
  [0x66, [0x67]], // modify
  [0x77, [0x78]], // extended
])
const searchRequest = 0x63
const searchDone = 0x65
/** Answers that are not the last of their request. */
const parts: readonly number[] = [0x64, 0x73]

const unbindRequest = Buffer.from([0x30, 0x06, 0x02, 0x02, 0x7f, 0xff, 0x42, 0x00])

type Envelope = { readonly id: number; readonly tag: number; readonly contentAt: number }

export class FramedSocket extends EventEmitter {
  /** For the package, which takes this for a socket. */
  readonly connecting = false
  readonly #socket: Socket
  readonly #underWay = new Map<number, number>()
  #chunks: Buffer[] = []
  #buffered = 0
  /** Bytes of the message that is being read; null: not known yet. */
  #wanted: number | null = null
  #bytesLeft = answerBytesMax
  #messagesLeft = answerMessagesMax
  #failure: DirectoryError | null = null
  #closed = false
  /** How the next search treats aliases of entries, as RFC 4511 (4.5.1.3) counts: the package sends 0 whatever it is told. */
  dereference = 0
  /** Result code of the last search that was done. */
  lastSearchCode = 0
  /** Whether the directory held back further pages of it. */
  lastSearchHasMore = false

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => this.emit('end'))
    socket.on('error', (error) => {
      if (this.listenerCount('error') > 0) this.emit('error', error)
    })
    socket.on('close', () => {
      this.#closed = true
      this.emit('close')
    })
  }

  get readyState(): string {
    return this.#closed || this.#socket.destroyed ? 'closed' : 'open'
  }

  /** Why this side ended the connection; null: it did not. */
  get failure(): DirectoryError | null {
    return this.#failure
  }

  get isOpen(): boolean {
    return this.readyState === 'open' && this.#socket.readyState === 'open'
  }

  /** Begins an operation, which may bring so much. */
  begin(): void {
    this.#bytesLeft = answerBytesMax
    this.#messagesLeft = answerMessagesMax
  }

  write(message: Buffer, written?: () => void): boolean {
    const envelope = envelopeOf(message)
    if (envelope !== null && answers.has(envelope.tag)) {
      if (this.#underWay.size >= requestsMax) {
        this.fail(new DirectoryError('protocol', 'too many requests on one connection'))
        return false
      }
      this.#underWay.set(envelope.id, envelope.tag)
      if (envelope.tag === searchRequest) {
        setDereference(message, envelope.contentAt, this.dereference)
      }
    }
    return this.#socket.write(message, () => written?.())
  }

  end(): this {
    this.#socket.end()
    return this
  }

  destroy(): this {
    this.#chunks = []
    this.#socket.destroy()
    return this
  }

  /** Says goodbye where nothing is in the way of it. */
  close(): void {
    if (this.#socket.writableLength > 0 || !this.isOpen) {
      this.destroy()
      return
    }
    this.#socket.write(unbindRequest)
    this.#socket.destroySoon()
  }

  /** Ends the connection at once; requests under way fail. */
  fail(error: DirectoryError): void {
    this.#failure ??= error
    this.destroy()
  }

  #take(chunk: Buffer): void {
    if (this.#failure !== null || this.#socket.destroyed) return
    this.#bytesLeft -= chunk.length
    if (this.#bytesLeft < 0) return this.fail(tooLarge())
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    while (this.#buffered > 0 && this.#failure === null && !this.#socket.destroyed) {
      this.#wanted ??= this.#lengthOfNext()
      if (this.#wanted === null || this.#buffered < this.#wanted) return
      const joined = this.#joined()
      const message = joined.subarray(0, this.#wanted)
      this.#chunks = joined.length > this.#wanted ? [joined.subarray(this.#wanted)] : []
      this.#buffered = joined.length - this.#wanted
      this.#wanted = null
      this.#deliver(message)
    }
  }

  #deliver(message: Buffer): void {
    this.#messagesLeft -= 1
    if (this.#messagesLeft < 0) return this.fail(tooLarge())
    const envelope = envelopeOf(message)
    if (envelope === null) return this.fail(rubbish())
    const request = this.#underWay.get(envelope.id)
    const fits = request !== undefined && answers.get(request)?.includes(envelope.tag) === true
    // Also a notice of disconnection, whose number is 0.
    if (!fits) return this.fail(new DirectoryError('protocol', 'an answer that nothing asked for'))
    if (!parts.includes(envelope.tag)) this.#underWay.delete(envelope.id)
    if (envelope.tag === searchDone) {
      this.lastSearchCode = resultCodeOf(message, envelope.contentAt)
      this.lastSearchHasMore = hasCookie(message)
    }
    this.emit('data', message)
  }

  /** Null: too few bytes to know. */
  #lengthOfNext(): number | null {
    const head = this.#buffered < 6 ? this.#joined() : (this.#chunks[0] ?? Buffer.alloc(0))
    const bytes = head.length < 6 && this.#buffered >= 6 ? this.#joined() : head
    if (bytes[0] !== 0x30) {
      this.fail(rubbish())
      return null
    }
    const length = readLength(bytes, 1)
    if (length === 'short') return null
    if (length === null || length.end + length.value > answerBytesMax) {
      this.fail(length === null ? rubbish() : tooLarge())
      return null
    }
    return length.end + length.value
  }

  #joined(): Buffer {
    const [only] = this.#chunks
    if (this.#chunks.length === 1 && only !== undefined) return only
    const joined = Buffer.concat(this.#chunks)
    this.#chunks = [joined]
    return joined
  }
}

/** The second of two enumerations behind the name of the base. */
function setDereference(request: Buffer, contentAt: number, value: number): void {
  const base = readLength(request, contentAt + 1)
  assert(base !== null && base !== 'short', 'a search has a base')
  const at = base.end + base.value + 3
  assert(request.readUInt16BE(at) === 0x0a01, 'a search says what it does with aliases')
  request.writeUInt8(value, at + 2)
}

function tooLarge(): DirectoryError {
  return new DirectoryError('protocol', 'the answer is too large')
}

function rubbish(): DirectoryError {
  return new DirectoryError('protocol', 'what the directory sent is no LDAP')
}

/** `short`: bytes are missing. Null: a form that LDAP does not use (RFC 4511, 5.1). */
export function readLength(
  bytes: Buffer,
  at: number,
): { readonly value: number; readonly end: number } | 'short' | null {
  const first = bytes[at]
  if (first === undefined) return 'short'
  if (first < 0x80) return { value: first, end: at + 1 }
  const count = first & 0x7f
  if (count === 0 || count > 4) return null
  if (bytes.length < at + 1 + count) return 'short'
  return { value: bytes.readUIntBE(at + 1, count), end: at + 1 + count }
}

/** Of a whole message: its number, the tag of its operation, and where that one's content begins. */
export function envelopeOf(message: Buffer): Envelope | null {
  const outer = readLength(message, 1)
  if (message[0] !== 0x30 || outer === null || outer === 'short') return null
  if (message[outer.end] !== 0x02) return null
  const size = message[outer.end + 1] ?? 0
  const idAt = outer.end + 2
  if (size < 1 || size > 4 || message.length < idAt + size + 2) return null
  const inner = readLength(message, idAt + size + 1)
  if (inner === null || inner === 'short') return null
  const tag = message[idAt + size] ?? 0
  return { id: message.readUIntBE(idAt, size), tag, contentAt: inner.end }
}

/** What is no result code counts as a failure. */
export function resultCodeOf(message: Buffer, contentAt: number): number {
  const isShort = message[contentAt] === 0x0a && message[contentAt + 1] === 0x01
  return isShort ? (message[contentAt + 2] ?? 80) : 80
}

const pagedResults = Buffer.from('1.2.840.113556.1.4.319')

/** Whether a control for paged results (RFC 2696) comes with a cookie. */
function hasCookie(message: Buffer): boolean {
  const at = message.lastIndexOf(pagedResults)
  if (at === -1) return false
  let next = at + pagedResults.length
  // Criticality, if it is there.
  if (message[next] === 0x01) next += 3
  for (const tag of [0x04, 0x30]) {
    if (message[next] !== tag) return false
    const length = readLength(message, next + 1)
    if (length === null || length === 'short') return false
    next = length.end
  }
  next += 2 + (message[next + 1] ?? 0)
  return message[next] === 0x04 && (message[next + 1] ?? 0) > 0
}
