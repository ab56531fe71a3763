/** The transport on real sockets: UDP for packets and TCP for streams, both on one port. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { createServer, isIPv6, type Server } from 'node:net'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Endpoint, PushPull } from './core/message.ts'
import { StreamSockets, type StreamStats } from './stream-sockets.ts'
import {
  ackFrom,
  pushPullFrom,
  type Ack,
  type GossipTransport,
  type Ping,
  type TransportHandlers,
} from './transport.ts'
import { formatAddress, parseAddress } from './wire/address.ts'
import type { StreamWire } from './wire/stream.ts'

/** With port 0 the system picks a free TCP port, which may be taken for UDP. */
const bindAttemptsMax = 20
/** What may wait in the process to be sent; more is dropped, as the network would. */
const sendQueueBytesMax = 4 * 1024 * 1024
/** A burst of gossip waits in the kernel while the process is busy. */
const receiveBufferBytes = 2 * 1024 * 1024

export type SocketOptions = {
  /** An address of this machine, not a name. */
  readonly host: string
  /** 0 for any that is free for both. */
  readonly port: number
  readonly wire: StreamWire
  readonly clock: Clock
  readonly logger: Logger
}

export type PacketStats = {
  packetsSent: number
  packetsReceived: number
  bytesSent: number
  bytesReceived: number
  /** Over the bound of the send queue. */
  packetsDropped: number
  sendErrors: number
}

/** Resolves once both sockets listen. Throws invalid_argument for a bad address, unavailable for a port in use. */
export async function bindSockets(options: SocketOptions): Promise<SocketTransport> {
  const { host, port } = options
  const address = parseAddress(host)
  if (address === null) {
    throw new MusterError('invalid_argument', `${JSON.stringify(host)} is no IP address to bind to`)
  }
  for (let attempt = 1; ; attempt++) {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    const udp = createSocket({
      type: isIPv6(host) ? 'udp6' : 'udp4',
      recvBufferSize: receiveBufferBytes,
    })
    try {
      const bound = await listen(server, host, port)
      await bind(udp, host, bound)
      return new SocketTransport(options, { address, port: bound }, server, udp)
    } catch (error) {
      await Promise.all([closed(server), closed(udp)])
      if (port === 0 && attempt < bindAttemptsMax) continue
      throw new MusterError(
        'unavailable',
        `gossip cannot listen on ${host} port ${port}, TCP and UDP: ${textOf(error)}; ports.gossip names another port`,
        { cause: error },
      )
    }
  }
}

export class SocketTransport implements GossipTransport {
  readonly endpoint: Endpoint
  readonly packetStats: PacketStats = {
    packetsSent: 0,
    packetsReceived: 0,
    bytesSent: 0,
    bytesReceived: 0,
    packetsDropped: 0,
    sendErrors: 0,
  }
  readonly #server: Server
  readonly #udp: UdpSocket
  readonly #streams: StreamSockets
  readonly #mapsIpv4: boolean
  #handlers: TransportHandlers | null = null
  #closing: Promise<void> | null = null

  constructor(options: SocketOptions, endpoint: Endpoint, server: Server, udp: UdpSocket) {
    this.endpoint = endpoint
    this.#server = server
    this.#udp = udp
    this.#mapsIpv4 = endpoint.address.length === 16
    this.#streams = new StreamSockets(options.wire, options.clock, options.logger)
    server.on('connection', (socket) => {
      this.#streams.accept(socket, this.#handlers)
    })
    server.on('error', (error) => {
      options.logger.warn('the gossip TCP socket reports an error', { error: textOf(error) })
    })
    udp.on('message', (packet, remote) => {
      this.packetStats.packetsReceived += 1
      this.packetStats.bytesReceived += packet.length
      const address = parseAddress(remote.address)
      if (address === null) return
      try {
        this.#handlers?.onPacket(packet, { address, port: remote.port })
      } catch (error) {
        // Whatever a stranger sends, the node goes on.
        options.logger.error('a gossip packet could not be handled', { error: textOf(error) })
      }
    })
    udp.on('error', (error) => {
      options.logger.warn('the gossip UDP socket reports an error', { error: textOf(error) })
    })
  }

  get streamStats(): Readonly<StreamStats> {
    return this.#streams.stats
  }

  start(handlers: TransportHandlers): void {
    this.#handlers = handlers
  }

  sendPacket(to: Endpoint, packet: Uint8Array): void {
    if (this.#closing !== null) return
    if (this.#udp.getSendQueueSize() + packet.length > sendQueueBytesMax) {
      this.packetStats.packetsDropped += 1
      return
    }
    const text = formatAddress(to.address)
    const host = this.#mapsIpv4 && to.address.length === 4 ? `::ffff:${text}` : text
    try {
      this.#udp.send(packet, to.port, host, (error) => {
        if (error === null) {
          this.packetStats.packetsSent += 1
          this.packetStats.bytesSent += packet.length
        } else {
          this.packetStats.sendErrors += 1
        }
      })
    } catch {
      // An endpoint that no socket takes, such as port 0.
      this.packetStats.sendErrors += 1
    }
  }

  async pushPull(to: Endpoint, request: PushPull, timeoutMs?: number): Promise<PushPull> {
    return pushPullFrom(await this.#streams.ask(to, request, timeoutMs))
  }

  async ping(to: Endpoint, request: Ping, timeoutMs?: number): Promise<Ack> {
    return ackFrom(await this.#streams.ask(to, request, timeoutMs), request.sequence)
  }

  close(): Promise<void> {
    this.#handlers = null
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#streams.close()
    await Promise.all([closed(this.#server), closed(this.#udp)])
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject)
      const address = server.address()
      if (address !== null && typeof address === 'object') resolve(address.port)
      else reject(new MusterError('internal', 'the TCP socket listens without an address'))
    })
  })
}

function bind(udp: UdpSocket, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    udp.once('error', reject)
    udp.bind({ address: host, port, exclusive: true }, () => {
      udp.off('error', reject)
      resolve()
    })
  })
}

/** Also resolves when it never was open. */
function closed(socket: Server | UdpSocket): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.close(() => {
        resolve()
      })
    } catch {
      resolve()
    }
  })
}
