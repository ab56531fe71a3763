/**
 * Outgoing streams. Every dial is a channel and a TCP connection of its own, made for one stream and gone with it,
 * so that reconnecting is a decision of the stream's owner alone and closing is final.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  status as grpcStatus,
} from '@grpc/grpc-js'
import type { StatusObject } from '@grpc/grpc-js'
import { onAbort } from '../lib/async.ts'
import type { Timer } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import { clientOptions, pingTimeoutMs } from './channel-options.ts'
import { acceptHello, encodeHello, type RemotePeer } from './handshake.ts'
import { WireStream } from './stream.ts'
import { TlsDialing } from './tls-dial.ts'
import type { Wire } from './wire.ts'

export type DialTarget = {
  /** host:port */
  readonly address: string
  /** '/muster.raft.Raft/Stream' */
  readonly path: string
  /** The server that must answer; '' for any. */
  readonly to: string
  /** How long a ping may go unanswered; absent: a few seconds. */
  readonly pingMs?: number
}

export type DialFailure =
  /** Nothing listens there. */
  | 'connectionRefused'
  /** No connection, or none that got through the handshake in time. */
  | 'unreachable'
  /** A server is there, and one side declined: wrong cluster, wrong server, no common version, wrong certificate. */
  | 'rejected'
  | 'cancelled'

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly failure: DialFailure

  constructor(failure: DialFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

/** A server of a cluster that is not wholly on TLS yet. */
class PlainAnswer extends DialError {}

/** How long a finished stream may take to drain. */
const finishGraceMs = 250

/**
 * gRPC keeps its sockets to itself: closing a channel whose peer has vanished would leave one behind for as long as
 * the kernel retries, and a connection attempt for minutes. Node announces every new client socket; those announced
 * while a dial's context is in force belong to that dial, which can then destroy them and read their error codes.
 */
type DialSockets = { readonly sockets: Socket[]; refused: number; destroyed: boolean }
const dialInProgress = new AsyncLocalStorage<DialSockets>()
subscribe('net.client.socket', (message) => {
  const owner = dialInProgress.getStore()
  if (owner === undefined) return
  const { socket } = message as { readonly socket: Socket }
  owner.sockets.push(socket)
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') owner.refused += 1
  })
  if (owner.destroyed) socket.destroy()
})

const passBytes = (bytes: Buffer): Buffer => bytes

/**
 * Connects, shakes hands, and resolves with the open stream. Rejects with DialError, within the connect timeout, or
 * twice that while the cluster changes over to TLS.
 */
export async function dial(
  wire: Wire,
  target: DialTarget,
  signal?: AbortSignal,
): Promise<WireStream> {
  const { tls } = wire
  try {
    return await dialOnce(wire, target, tls === null ? null : new TlsDialing(tls), signal)
  } catch (error) {
    if (error instanceof PlainAnswer) return dialOnce(wire, target, null, signal)
    throw error
  }
}

function dialOnce(
  wire: Wire,
  target: DialTarget,
  tls: TlsDialing | null,
  signal: AbortSignal | undefined,
): Promise<WireStream> {
  if (signal?.aborted === true) return Promise.reject(unwanted(target))
  const held: DialSockets = { sockets: [], refused: 0, destroyed: false }
  return dialInProgress.run(held, () => {
    const opened = openDuplex(target, tls)
    return opened instanceof DialError
      ? Promise.reject(opened)
      : new Dialing(wire, target, held, tls, opened).outcome(signal)
  })
}

const plainText = credentials.createInsecure()

type Opened = { readonly client: Client; readonly duplex: ClientDuplexStream<Buffer, Buffer> }

function openDuplex(
  { address, path, pingMs = pingTimeoutMs }: DialTarget,
  tls: TlsDialing | null,
): Opened | DialError {
  let client: Client | null = null
  try {
    const security: ChannelCredentials = tls ?? plainText
    client = new Client(address, security, clientOptions(pingMs))
    const duplex = client.makeBidiStreamRequest(path, passBytes, passBytes, new Metadata())
    return { client, duplex }
  } catch (error) {
    client?.close()
    return new DialError('unreachable', `${address} cannot be dialled: ${textOf(error)}`)
  }
}

/** One attempt: it settles once, with a stream or a failure; a stream ends as its owner or the other side says. */
class Dialing {
  readonly #wire: Wire
  readonly #target: DialTarget
  readonly #held: DialSockets
  readonly #tls: TlsDialing | null
  readonly #opened: Opened
  readonly #outcome = Promise.withResolvers<WireStream>()
  #stream: WireStream | null = null
  #isSettled = false
  #timeout: Timer | null = null
  #stopListening = (): void => {}
  /** Of a stream that is finished. */
  #grace: Timer | null = null

  constructor(
    wire: Wire,
    target: DialTarget,
    held: DialSockets,
    tls: TlsDialing | null,
    opened: Opened,
  ) {
    this.#wire = wire
    this.#target = target
    this.#held = held
    this.#tls = tls
    this.#opened = opened
  }

  /** Called once. */
  outcome(signal: AbortSignal | undefined): Promise<WireStream> {
    const { clock, connectTimeoutMs, identity, versions } = this.#wire
    const { address, to } = this.#target
    const { duplex } = this.#opened
    this.#timeout = clock.setTimer(connectTimeoutMs, () => {
      const text = `${address} did not answer within ${connectTimeoutMs} ms`
      this.#fail(new DialError('unreachable', text))
    })
    this.#stopListening = onAbort(signal, () => this.#fail(unwanted(this.#target)))
    // 'status' carries the same and comes always; an unheard 'error' would end the process.
    duplex.on('error', () => {})
    duplex.on('status', (status: StatusObject) => this.#ended(status))
    duplex.once('data', (frame: Buffer) => this.#answered(frame))
    duplex.write(encodeHello(identity(), versions, to))
    return this.#outcome.promise
  }

  #answered(frame: Buffer): void {
    if (this.#isSettled) return
    const { duplex } = this.#opened
    const { identity, versions, refusals, traffic } = this.#wire
    const { address, path, to } = this.#target
    duplex.pause()
    let peer: RemotePeer
    try {
      peer = acceptHello(frame, identity(), versions, to)
    } catch (error) {
      refusals.add('handshake', address, textOf(error))
      this.#fail(new DialError('rejected', textOf(error)))
      return
    }
    this.#settle()
    this.#wire.rememberVersion(peer.id, peer.version)
    const ending = { destroy: () => this.#destroy(), finish: () => this.#finish() }
    this.#stream = new WireStream(duplex, { peer, remote: address }, ending, traffic.of(path))
    this.#outcome.resolve(this.#stream)
  }

  #ended(status: StatusObject): void {
    if (this.#stream !== null) {
      this.#stream.closed(status.details)
      this.#destroy()
    } else if (!this.#isSettled) {
      this.#fail(failureOf(this.#wire, this.#target, status, this.#held, this.#tls))
    }
  }

  #settle(): void {
    this.#isSettled = true
    this.#timeout?.cancel()
    this.#stopListening()
  }

  #fail(error: DialError): void {
    if (this.#isSettled) return
    this.#settle()
    this.#destroy()
    this.#outcome.reject(error)
  }

  #finish(): void {
    this.#opened.duplex.end()
    this.#grace = this.#wire.clock.setTimer(finishGraceMs, () => this.#destroy())
  }

  #destroy(): void {
    const { client, duplex } = this.#opened
    this.#grace?.cancel()
    this.#held.destroyed = true
    for (const socket of this.#held.sockets) socket.destroy()
    duplex.cancel()
    client.close()
  }
}

function unwanted({ address }: DialTarget): DialError {
  return new DialError('cancelled', `the connection to ${address} is not wanted any more`)
}

/** Why a stream ended before it was open; what the other side or TLS refused is counted. */
function failureOf(
  wire: Wire,
  { address }: DialTarget,
  { code, details }: StatusObject,
  held: DialSockets,
  tls: TlsDialing | null,
): DialError {
  const failure = tls?.failure ?? null
  if (failure !== null) {
    const text = `${address}: ${failure.text}`
    if (failure.plain && wire.tls?.plainToo === true) return new PlainAnswer('rejected', text)
    wire.refusals.add(failure.kind, address, failure.text)
    return new DialError('rejected', text)
  }
  if (held.refused > 0 && held.refused === held.sockets.length) {
    return new DialError('connectionRefused', `nothing listens at ${address}`)
  }
  if (code === grpcStatus.FAILED_PRECONDITION) {
    wire.refusals.add('handshake', address, details)
    return new DialError('rejected', details)
  }
  return new DialError(
    'unreachable',
    `no connection to ${address}: ${hangUpHint(held, tls)}${details}`,
  )
}

/** A server does not say why it refuses a connection; its log does. */
function hangUpHint(held: DialSockets, tls: TlsDialing | null): string {
  if (tls?.secured === true) {
    return 'it ended the connection after the TLS handshake, as if it refused this certificate: '
  }
  const [socket] = held.sockets
  const silent = socket !== undefined && socket.bytesWritten > 0 && socket.bytesRead === 0
  return tls === null && silent
    ? 'it hung up without a word, as one does that stops, or that speaks TLS only (tls.rpc): '
    : ''
}
