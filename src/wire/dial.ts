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
import { textOf } from '../lib/errors.ts'
import { clientOptions, pingTimeoutMs } from './channel-options.ts'
import { acceptHello, encodeHello } from './handshake.ts'
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
export function dial(wire: Wire, target: DialTarget, signal?: AbortSignal): Promise<WireStream> {
  const { tls } = wire
  if (tls === null) return dialOnce(wire, target, null, signal)
  const dialed = dialOnce(wire, target, new TlsDialing(tls), signal)
  if (!tls.plainToo) return dialed
  return dialed.catch((error: unknown) => {
    if (error instanceof PlainAnswer) return dialOnce(wire, target, null, signal)
    throw error
  })
}

function dialOnce(
  wire: Wire,
  target: DialTarget,
  tls: TlsDialing | null,
  signal: AbortSignal | undefined,
): Promise<WireStream> {
  const held: DialSockets = { sockets: [], refused: 0, destroyed: false }
  return dialInProgress.run(held, () => dialHeld(wire, target, held, tls, signal))
}

const plainText = credentials.createInsecure()

function dialHeld(
  wire: Wire,
  target: DialTarget,
  held: DialSockets,
  tls: TlsDialing | null,
  signal: AbortSignal | undefined,
): Promise<WireStream> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(unwanted(target))
      return
    }
    let client: Client
    let duplex: ClientDuplexStream<Buffer, Buffer>
    try {
      const security: ChannelCredentials = tls ?? plainText
      client = new Client(target.address, security, clientOptions(target.pingMs ?? pingTimeoutMs))
      const empty = new Metadata()
      duplex = client.makeBidiStreamRequest(target.path, passBytes, passBytes, empty)
    } catch (error) {
      reject(new DialError('unreachable', `${target.address} cannot be dialled: ${textOf(error)}`))
      return
    }
    let stream: WireStream | null = null
    let settled = false

    const destroy = (): void => {
      held.destroyed = true
      for (const socket of held.sockets) socket.destroy()
      duplex.cancel()
      client.close()
    }
    const finish = (): void => {
      duplex.end()
      const timer = wire.clock.setTimer(finishGraceMs, destroy)
      duplex.once('status', () => timer.cancel())
    }
    const timeout = wire.clock.setTimer(wire.connectTimeoutMs, () => {
      const text = `${target.address} did not answer within ${wire.connectTimeoutMs} ms`
      fail(new DialError('unreachable', text))
    })
    const stopListening = onAbort(signal, () => fail(unwanted(target)))
    const settle = (): void => {
      settled = true
      timeout.cancel()
      stopListening()
    }
    const fail = (error: DialError): void => {
      if (settled) return
      settle()
      destroy()
      reject(error)
    }

    // 'status' carries the same and comes always; an unheard 'error' would end the process.
    duplex.on('error', () => {})
    duplex.on('status', (status: StatusObject) => {
      if (stream !== null) {
        stream.closed(status.details)
        destroy()
        return
      }
      fail(failureOf(wire, target, status, held, tls))
    })
    duplex.once('data', (frame: Buffer) => {
      if (settled) return
      duplex.pause()
      try {
        const peer = acceptHello(frame, wire.identity(), wire.versions, target.to)
        settle()
        wire.rememberVersion(peer.id, peer.version)
        const traffic = wire.traffic.of(target.path)
        const from = { peer, remote: target.address }
        stream = new WireStream(duplex, from, { destroy, finish }, traffic)
        resolve(stream)
      } catch (error) {
        wire.refusals.add('handshake', target.address, textOf(error))
        fail(new DialError('rejected', textOf(error)))
      }
    })
    duplex.write(encodeHello(wire.identity(), wire.versions, target.to))
  })
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
