/**
 * The calling side of one link: one stream to one address that carries many calls at once.
 *
 * Invariant: every call settles exactly once, and says truly whether it can have reached the other side: `unavailable`
 * only if its request was never written to a connection.
 */
import { onAbort } from '../lib/async.ts'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Timer } from '../lib/clock.ts'
import { EarliestTimer } from '../lib/earliest-timer.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { frameBytesMax, frameBytesTarget } from '../wire/channel-options.ts'
import type { FrameStream } from '../wire/stream.ts'
import type { Wire } from '../wire/wire.ts'
import {
  decodeCalls,
  decodeFailure,
  decodeValue,
  encodeCalls,
  encodeRequest,
  encodeValue,
  type WireRequest,
  type WireResponse,
} from './link-codec.ts'
import type { CallRequest, CallTarget } from './link.ts'

export const callsPath = '/muster.server.Server/Calls'

export type LinkOptions = {
  /** Calls of one link that are not settled; more are `overloaded`. */
  readonly callsMax: number
  /** Bytes of their arguments together. */
  readonly callBytesMax: number
  readonly idleMs: number
  /** Bytes of one call's arguments. Default: half a frame. */
  readonly argumentBytesMax?: number
  /** Of results. Default: `decodeValue`. */
  readonly decode?: (bytes: Uint8Array) => unknown
}

/** How a link comes to its stream. */
export type LinkCarrier = Pick<Wire, 'clock' | 'refusals'> & {
  readonly dial: (signal: AbortSignal) => Promise<FrameStream>
}

type Call = {
  readonly wire: WireRequest
  readonly bytes: number
  readonly deadlineMs: number
  /** The target is asked as the leader. */
  readonly atLeader: boolean
  sent: boolean
  settle(): void
  resolve(value: unknown): void
  reject(error: MusterError): void
}

/** The remote stops a call at its deadline and says so; the caller waits this much longer to hear it. */
const deadlineGraceMs = 100
/** For a server that leads no more: until it is taken for silent, and, if it is not, until it must have answered. */
const lastWordMs = 100
const lastAnswersMs = 1_000
/** After a failed dial, calls fail at once for this long instead of dialling each on its own. */
const redialMs = 50

export class LinkClient {
  readonly target: CallTarget
  readonly #wire: LinkCarrier
  readonly #options: LinkOptions
  readonly #onIdle: () => void
  readonly #ended = new AbortController()
  readonly #calls = new ChurnMap<number, Call>()
  #bytes = 0
  #nextId = 1
  #unsent: Call[] = []
  #cancels: number[] = []
  #stream: FrameStream | null = null
  #dialling = false
  #writable = false
  #flush: NodeJS.Immediate | null = null
  readonly #deadlines: EarliestTimer
  #usedMs: number
  #framesReceived = 0
  /** Of `settleLeaderCalls`. */
  readonly #settling = new Set<Timer>()
  #failed: { readonly untilMs: number; readonly reason: string } | null = null
  #isKept = false

  /** `onIdle`: nothing was called for `idleMs`, and the link has closed itself. */
  constructor(wire: LinkCarrier, target: CallTarget, options: LinkOptions, onIdle: () => void) {
    this.#wire = wire
    this.target = target
    this.#options = options
    this.#onIdle = onIdle
    this.#usedMs = wire.clock.monotonicMs()
    this.#deadlines = new EarliestTimer(wire.clock, (nowMs) => this.#look(nowMs))
  }

  /** Kept open: connects now, unless it is connected, and does not close for being idle. */
  keepOpen(isKept: boolean): void {
    this.#isKept = isKept
    if (!isKept) return
    if (this.#stream === null) this.#connect()
    this.#deadlines.by(this.#usedMs + this.#options.idleMs)
  }

  call(request: CallRequest, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted === true) {
      return Promise.reject(cancelled(request))
    }
    const now = this.#wire.clock.monotonicMs()
    this.#usedMs = now
    if (this.#failed !== null && now < this.#failed.untilMs) {
      return Promise.reject(new MusterError('unavailable', this.#failed.reason))
    }
    const args = encodeValue(request.args)
    const bytes = args.length + request.method.length + 256
    const { callsMax, callBytesMax, argumentBytesMax = frameBytesMax / 2 } = this.#options
    if (bytes > argumentBytesMax) {
      const text = `the arguments of ${request.method} take ${bytes} bytes, at most ${argumentBytesMax} can be sent`
      return Promise.reject(new MusterError('too_large', text))
    }
    if (this.#calls.size >= callsMax || this.#bytes + bytes > callBytesMax) {
      const text = `too many calls to ${this.target.address} are under way, at most ${callsMax} calls or ${callBytesMax} bytes may be`
      return Promise.reject(new MusterError('overloaded', text))
    }
    return new Promise((resolve, reject) => {
      const id = this.#nextId
      this.#nextId += 1
      const call: Call = {
        wire: encodeRequest(id, request, args),
        bytes,
        deadlineMs: now + request.timeoutMs,
        atLeader: request.atLeader === true,
        sent: false,
        settle: onAbort(signal, () => this.#cancel(id, cancelled(request))),
        resolve,
        reject,
      }
      this.#calls.set(id, call)
      this.#bytes += bytes
      this.#unsent.push(call)
      this.#scheduleFlush()
      this.#deadlines.by(Math.min(call.deadlineMs, now + this.#options.idleMs))
    })
  }

  /**
   * The target is not the leader any more, as far as this server knows. What was not sent is `unavailable` at once. The
   * rest is `outcome_unknown` soon: a server that lives has a moment to say more, and one that says anything has longer.
   */
  settleLeaderCalls(): void {
    const text = `${this.target.address} is not the leader any more`
    const sent = new Set<number>()
    for (const [id, call] of this.#calls.entries()) {
      if (!call.atLeader) continue
      if (call.sent) sent.add(id)
      else this.#cancel(id, new MusterError('unavailable', text))
    }
    if (sent.size === 0) return
    const framesBefore = this.#framesReceived
    const settle = (): void => {
      const unknown = `${text}, and did not answer what it was asked before`
      for (const id of sent) this.#cancel(id, new MusterError('outcome_unknown', unknown))
    }
    this.#settleAfter(lastWordMs, () => {
      if (this.#framesReceived === framesBefore) settle()
      else this.#settleAfter(lastAnswersMs, settle)
    })
  }

  #settleAfter(delayMs: number, run: () => void): void {
    const timer = this.#wire.clock.setTimer(delayMs, () => {
      this.#settling.delete(timer)
      run()
    })
    this.#settling.add(timer)
  }

  /** Settles what is under way and closes the connection. */
  close(reason: string): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#stream?.finish(reason)
    this.#failAll(reason)
    this.#deadlines.cancel()
    for (const timer of this.#settling) timer.cancel()
    if (this.#flush !== null) clearImmediate(this.#flush)
  }

  /** One frame for all that one turn of the event loop asks. */
  #scheduleFlush(): void {
    if (this.#ended.signal.aborted) return
    if (this.#stream === null) this.#connect()
    else
      this.#flush ??= setImmediate(() => {
        this.#flush = null
        this.#flushUnsent()
      })
  }

  #connect(): void {
    if (this.#dialling) return
    this.#dialling = true
    this.#wire.dial(this.#ended.signal).then(
      (stream) => {
        this.#dialling = false
        this.#onStream(stream)
      },
      (error: unknown) => {
        this.#dialling = false
        const reason = textOf(error)
        this.#failed = { untilMs: this.#wire.clock.monotonicMs() + redialMs, reason }
        this.#failAll(reason)
      },
    )
  }

  #onStream(stream: FrameStream): void {
    if (this.#ended.signal.aborted) {
      stream.close('the link is closed')
      return
    }
    this.#failed = null
    this.#stream = stream
    this.#writable = true
    this.#cancels = []
    stream.start({
      onFrame: (frame) => this.#onFrame(stream, frame),
      onDrain: () => {
        this.#writable = true
        this.#flushUnsent()
      },
      onClose: (reason) => {
        this.#stream = null
        this.#failAll(`the connection to ${this.target.address} was lost: ${reason}`)
      },
    })
    this.#flushUnsent()
  }

  #flushUnsent(): void {
    const stream = this.#stream
    if (stream === null) return
    while (this.#writable && (this.#unsent.length > 0 || this.#cancels.length > 0)) {
      const requests: WireRequest[] = []
      let bytes = 0
      let taken = 0
      for (const call of this.#unsent) {
        if (requests.length > 0 && bytes + call.bytes > frameBytesTarget) break
        taken += 1
        if (!this.#calls.has(call.wire.id)) continue
        call.sent = true
        requests.push(call.wire)
        bytes += call.bytes
      }
      this.#unsent.splice(0, taken)
      const cancels = this.#cancels
      this.#cancels = []
      if (requests.length > 0 || cancels.length > 0) {
        this.#writable = stream.write(encodeCalls({ requests, cancels }))
      }
    }
  }

  #onFrame(stream: FrameStream, frame: Buffer): void {
    this.#framesReceived += 1
    try {
      const { responses } = decodeCalls(frame)
      for (const response of responses) {
        if (response.id >= this.#nextId) {
          throw new MusterError(
            'corrupt',
            `an answer is to call ${response.id}, which was not made`,
          )
        }
        this.#onResponse(response)
      }
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      stream.close(this.#wire.refusals.addFrame(stream.peer.id, error))
    }
  }

  #onResponse(response: WireResponse): void {
    const call = this.#take(response.id)
    // Answers to calls that were given up arrive late.
    if (call === undefined) return
    const { decode = decodeValue } = this.#options
    try {
      if (response.error) call.reject(decodeFailure(response.error, decode))
      else call.resolve(decode(response.result ?? Buffer.alloc(0)))
    } catch (error) {
      const text = `${call.wire.method} was answered, but the answer cannot be read: ${textOf(error)}`
      call.reject(new MusterError('outcome_unknown', text))
    }
  }

  #cancel(id: number, error: MusterError): void {
    const call = this.#take(id)
    if (call === undefined) return
    if (call.sent) {
      this.#cancels.push(id)
      this.#scheduleFlush()
    }
    call.reject(error)
  }

  /** The call, if it is not settled; from here on it is. */
  #take(id: number): Call | undefined {
    const call = this.#calls.take(id)
    if (call === undefined) return undefined
    this.#bytes -= call.bytes
    this.#usedMs = this.#wire.clock.monotonicMs()
    call.settle()
    return call
  }

  #failAll(reason: string): void {
    for (const id of this.#calls.keys()) {
      const call = this.#take(id)
      if (call === undefined) continue
      call.reject(
        call.sent
          ? new MusterError('outcome_unknown', `${call.wire.method} was sent, then ${reason}`)
          : new MusterError('unavailable', reason),
      )
    }
    this.#unsent = []
    this.#cancels = []
  }

  /** At calls that are late, and whether the link is idle. Returns when to look again. */
  #look(nowMs: number): number {
    const { idleMs } = this.#options
    for (const [id, call] of this.#calls.entries()) this.#expire(id, call, nowMs)
    if (this.#ended.signal.aborted) return Infinity
    const isIdle = this.#calls.size === 0 && nowMs - this.#usedMs >= idleMs
    if (isIdle && !this.#isKept) {
      this.close('the link was idle')
      this.#onIdle()
      return Infinity
    }
    let nextMs = this.#calls.size === 0 && !isIdle ? this.#usedMs + idleMs : nowMs + idleMs
    for (const [, call] of this.#calls.entries()) nextMs = Math.min(nextMs, lateMs(call))
    return nextMs
  }

  #expire(id: number, call: Call, now: number): void {
    const { method, timeoutMs } = call.wire
    const { address } = this.target
    if (now < lateMs(call)) return
    if (!call.sent) {
      const text = `${method} could not be sent to ${address} within ${timeoutMs} ms`
      this.#cancel(id, new MusterError('unavailable', text))
    } else {
      const text = `${method} was sent to ${address} and not answered within ${timeoutMs} ms`
      this.#cancel(id, new MusterError('outcome_unknown', text))
    }
  }
}

/** Monotonic: when its caller waits no longer. */
function lateMs({ sent, deadlineMs }: Call): number {
  return sent ? deadlineMs + deadlineGraceMs : deadlineMs
}

function cancelled(request: CallRequest): MusterError {
  return new MusterError('cancelled', `the caller of ${request.method} went away`)
}
