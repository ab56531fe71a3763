/**
 * A TCP proxy in front of one port, to break connections the way networks do.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

const pieceMs = 20

export class Proxy {
  readonly #targetPort: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #silent = false
  /** Bytes a second of each connection towards the target; null: as many as come. */
  #rate: number | null = null
  /** Bytes that went towards the target. */
  forwarded = 0
  /** Connections so far. */
  accepted = 0
  /** Called after every piece that goes towards the target. */
  onForward: (bytes: number) => void = () => {}

  constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = createServer((inbound) => this.#relay(inbound))
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** Connections stay open and carry nothing any more; nor do new ones. */
  blackHole(silent: boolean): void {
    this.#silent = silent
  }

  /** From now on each connection carries so many bytes a second towards the target; null: all. */
  slow(bytesPerSecond: number | null): void {
    this.#rate = bytesPerSecond
  }

  get connections(): number {
    return this.#sockets.size / 2
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    this.cut()
    await closed
  }

  #trickle(from: Socket, to: Socket, bytes: Buffer, rate: number): void {
    const pieceBytes = Math.max(1, Math.floor((rate * pieceMs) / 1_000))
    from.pause()
    to.write(bytes.subarray(0, pieceBytes))
    setTimeout(() => {
      const rest = bytes.subarray(pieceBytes)
      if (from.destroyed || to.destroyed) return
      if (rest.length > 0) this.#trickle(from, to, rest, rate)
      else from.resume()
    }, pieceMs)
  }

  #relay(inbound: Socket): void {
    this.accepted += 1
    const outbound = connect(this.#targetPort, '127.0.0.1')
    const pairs = [
      [inbound, outbound],
      [outbound, inbound],
    ] as const
    for (const [from, to] of pairs) {
      this.#sockets.add(from)
      from.on('data', (bytes: Buffer) => {
        if (this.#silent) return
        if (to === outbound && this.#rate !== null) this.#trickle(from, to, bytes, this.#rate)
        else to.write(bytes)
        if (to !== outbound) return
        this.forwarded += bytes.length
        this.onForward(this.forwarded)
      })
      from.on('error', () => {})
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
