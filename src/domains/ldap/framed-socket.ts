/**
 * A connected socket that carries requests and their answers, many at a time, each by its number. A message must be well framed,
 * answer a request that is under way, and be of a kind that answers such a request. What one operation may bring is bounded in
 * bytes and in messages. Whatever breaks a rule ends the connection, and with it all that is under way there.
 *
 * A request that its caller gives up does not end what others wait for: the directory is told, what still comes for it is
 * dropped, and the connection takes no further requests and ends with the last one under way.
 *
 * Requests of one turn of the event loop leave together: to write to a socket costs more than to make the request.
 */
import type { Socket } from 'node:net'
import { textOf } from '../../lib/errors.ts'
import { readLength, tagOf } from './ber.ts'
import { DirectoryError } from './directory-error.ts'
import { abandonRequest, envelopeOf, operation } from './messages.ts'

/** What one operation of a directory may answer, all its pages together. */
export const answerBytesMax = 8 * 1024 * 1024
export const answerMessagesMax = 20_000

/** Requests under way at a time on one connection; further ones wait for these. Some directories drop a client with more than 100. */
export const requestsMax = 64

/** How much of it is left for an operation. */
export type Allowance = { bytes: number; messages: number }

export function fullAllowance(): Allowance {
  return { bytes: answerBytesMax, messages: answerMessagesMax }
}

/** A whole message of an answer. */
export type Received = {
  readonly tag: number
  readonly message: Buffer
  readonly contentAt: number
}

/** By the tag of a request, the tags of its answers (RFC 4511, 4.1.1). */
const answers: ReadonlyMap<number, readonly number[]> = new Map([
  [operation.bind, [operation.bound]],
  [operation.search, [operation.entry, operation.searchDone, operation.reference]],
  [operation.modify, [operation.modified]],
])

/** Answers that are not the last of their request. */
const parts: readonly number[] = [operation.entry, operation.reference]

/** The largest number of a request is 2^31 - 1; that of the goodbye is never waited for. */
const idMax = 2 ** 31 - 2
const unbindRequest = Buffer.from([0x30, 0x06, 0x02, 0x02, 0x7f, 0xff, operation.unbind, 0x00])

export type Request = {
  /** Tag of the operation. */
  readonly tag: number
  readonly encode: (id: number) => Buffer
  readonly allowance: Allowance
}

type UnderWay = Request & {
  /** Empty from when the caller has given it up. */
  received: Received[]
  resolve: (received: readonly Received[]) => void
  reject: (error: DirectoryError) => void
  /** null: not sent yet. */
  id: number | null
  isAbandoned: boolean
}

/** A request as its caller holds it. */
export type Asked = {
  /** All messages of the answer, the last one at the end. Rejects with a `DirectoryError`. */
  readonly answer: Promise<readonly Received[]>
  /** `answer` rejects with `reason`, if it is not there yet. */
  readonly abandon: (reason: DirectoryError) => void
}

export class FramedSocket {
  readonly #socket: Socket
  readonly #underWay = new Map<number, UnderWay>()
  readonly #waiting: UnderWay[] = []
  #lastId = 0
  /** What leaves at the end of this turn. */
  #leaving: Buffer[] = []
  #chunks: Buffer[] = []
  #buffered = 0
  /** Bytes of the message that is being read; null: not known yet. */
  #wanted: number | null = null
  #isRetired = false
  #failure: DirectoryError | null = null
  #lastError = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', (error) => (this.#lastError = textOf(error)))
    // A directory that says no more answers no more.
    socket.on('end', () => this.fail(closed(this.#lastError)))
    socket.on('close', () => this.fail(closed(this.#lastError)))
  }

  /** Whether it takes requests. */
  get isOpen(): boolean {
    return this.#failure === null && !this.#isRetired && this.#socket.readyState === 'open'
  }

  ask(request: Request): Asked {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Received[]>()
    const own = { ...request, received: [], resolve, reject, id: null, isAbandoned: false }
    if (!this.isOpen) reject(this.#failure ?? closed(this.#lastError))
    else if (this.#underWay.size >= requestsMax) this.#waiting.push(own)
    else this.#send(own)
    return { answer: promise, abandon: (reason) => this.#abandon(own, reason) }
  }

  /** Says goodbye where nothing is in the way of it. */
  close(): void {
    if (this.#socket.writableLength > 0 || this.#underWay.size > 0 || !this.isOpen) {
      this.fail(closed(''))
      return
    }
    this.#socket.write(unbindRequest)
    this.#failure = closed('')
    this.#socket.destroySoon()
  }

  /** Ends the connection at once; requests under way fail. */
  fail(error: DirectoryError): void {
    if (this.#failure !== null) return
    this.#failure = error
    this.#chunks = []
    this.#leaving = []
    this.#socket.destroy()
    for (const { reject } of [...this.#underWay.values(), ...this.#waiting]) reject(error)
    this.#underWay.clear()
    this.#waiting.length = 0
  }

  #send(request: UnderWay): void {
    const id = this.#nextId()
    request.id = id
    this.#underWay.set(id, request)
    this.#leave(request.encode(id))
  }

  #nextId(): number {
    do this.#lastId = this.#lastId >= idMax ? 1 : this.#lastId + 1
    while (this.#underWay.has(this.#lastId))
    return this.#lastId
  }

  #leave(bytes: Buffer): void {
    this.#leaving.push(bytes)
    if (this.#leaving.length === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const [first, ...others] = this.#leaving
    this.#leaving = []
    if (first === undefined || this.#failure !== null) return
    this.#socket.write(others.length === 0 ? first : Buffer.concat([first, ...others]))
  }

  #abandon(request: UnderWay, reason: DirectoryError): void {
    if (request.isAbandoned) return
    request.isAbandoned = true
    request.received = []
    request.reject(reason)
    const waitsAt = this.#waiting.indexOf(request)
    if (waitsAt >= 0) this.#waiting.splice(waitsAt, 1)
    const { id } = request
    if (id === null || this.#underWay.get(id) !== request) return
    this.#isRetired = true
    this.#endIfIdle()
    if (this.#failure === null) this.#leave(abandonRequest(this.#nextId(), id))
  }

  /** Of one that is retired. */
  #endIfIdle(): void {
    if (!this.#isRetired || this.#waiting.length > 0) return
    for (const { isAbandoned } of this.#underWay.values()) if (!isAbandoned) return
    this.fail(closed('given up'))
  }

  /** What the directory sent next. It is kept. */
  take(chunk: Buffer): void {
    if (this.#failure !== null) return
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    while (this.#buffered > 0 && this.#failure === null) {
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
    const envelope = envelopeOf(message)
    if (envelope === null) return this.fail(rubbish())
    const { id, tag, contentAt } = envelope
    const request = this.#underWay.get(id)
    // Also a notice of disconnection, whose number is 0.
    if (request === undefined || answers.get(request.tag)?.includes(tag) !== true) {
      return this.fail(new DirectoryError('protocol', 'an answer that nothing asked for'))
    }
    const { allowance } = request
    allowance.bytes -= message.length
    allowance.messages -= 1
    if (allowance.bytes < 0 || allowance.messages < 0) return this.fail(tooLarge())
    if (!request.isAbandoned) request.received.push({ tag, message, contentAt })
    if (parts.includes(tag)) return
    this.#underWay.delete(id)
    request.resolve(request.received)
    const next = this.#waiting.shift()
    if (next !== undefined) this.#send(next)
    this.#endIfIdle()
  }

  /** Null: too few bytes to know. */
  #lengthOfNext(): number | null {
    const head = this.#buffered < 6 ? this.#joined() : (this.#chunks[0] ?? Buffer.alloc(0))
    const bytes = head.length < 6 && this.#buffered >= 6 ? this.#joined() : head
    if (bytes[0] !== tagOf.sequence) {
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

function closed(why: string): DirectoryError {
  const text = 'the connection is closed'
  return new DirectoryError('closed', why === '' ? text : `${text}: ${why}`)
}

function tooLarge(): DirectoryError {
  return new DirectoryError('protocol', 'the answer is too large')
}

function rubbish(): DirectoryError {
  return new DirectoryError('protocol', 'what the directory sent is no LDAP')
}
