/** A client that writes to its connection whatever it is told, and takes down what comes back; and frames, good and bad. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { eventually } from '../../support/eventually.ts'

const soon = { everyMs: 2 }

export const sampleKey = 'dGhlIHNhbXBsZSBub25jZQ=='

/** A head with these header lines as they stand; `changes` replaces those of a good handshake, null leaves one out. */
export function handshake(
  target: string,
  changes: Readonly<Record<string, string | null>> = {},
  more: readonly string[] = [],
  method = 'GET',
): string {
  const headers: Readonly<Record<string, string | null>> = {
    Host: 'localhost',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': sampleKey,
    ...changes,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}`],
  )
  return `${[`${method} ${target} HTTP/1.1`, ...lines, ...more].join('\r\n')}\r\n\r\n`
}

export type FrameOptions = {
  readonly fin?: boolean
  /** Three bits. */
  readonly reserved?: number
  readonly masked?: boolean
  /** What is announced. Default: what there is, in the shortest form. */
  readonly length?: bigint
}

/** The mask is zero, so that the payload stands as it is. */
export function frame(
  opcode: number,
  payload: Uint8Array | string = '',
  options: FrameOptions = {},
): Buffer {
  const { fin = true, reserved = 0, masked = true } = options
  const bytes = Buffer.from(payload)
  const length = options.length ?? BigInt(bytes.length)
  const mask = masked ? 0x80 : 0
  const short = length < 126n ? Number(length) : length < 65_536n ? 126 : 127
  const head = [(fin ? 0x80 : 0) | (reserved << 4) | opcode, mask | short]
  const long = Buffer.alloc(short === 126 ? 2 : short === 127 ? 8 : 0)
  if (short === 126) long.writeUInt16BE(Number(length))
  if (short === 127) long.writeBigUInt64BE(length)
  return Buffer.concat([Buffer.from(head), long, Buffer.alloc(masked ? 4 : 0), bytes])
}

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return frame(8, payload)
}

export class HostileClient {
  readonly socket: Socket
  #received: Buffer[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    // Resets are part of the game.
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => this.#received.push(chunk))
  }

  static async open(port: number, options: { readonly halfOpen?: boolean } = {}) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: options.halfOpen ?? false })
    const client = new HostileClient(socket)
    await once(socket, 'connect')
    return client
  }

  /** Resolves when the bytes are out, or can never be. */
  write(bytes: Uint8Array | string): Promise<void> {
    if (this.socket.destroyed || this.socket.writableEnded) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        this.socket.off('close', done)
        resolve()
      }
      this.socket.on('close', done)
      this.socket.write(bytes, done)
    })
  }

  get received(): Buffer {
    const all = Buffer.concat(this.#received)
    this.#received = [all]
    return all
  }

  get over(): boolean {
    return this.socket.destroyed || this.socket.readableEnded
  }

  /** Of the answers so far. */
  get statuses(): readonly number[] {
    const text = this.received.toString('latin1')
    return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
  }

  /** Of the first answer; 0: the server ended the connection without one. */
  status(): Promise<number> {
    return eventually('an answer', () => this.statuses[0] ?? (this.over ? 0 : undefined), soon)
  }

  ended(): Promise<true> {
    return eventually('the server ends it', () => (this.over ? true : undefined), soon)
  }

  /** Of the server's goodbye; null: it just ended. */
  async closeCode(): Promise<number | null> {
    await this.ended()
    for (const { opcode, payload } of this.frames()) {
      if (opcode === 8) return payload.length < 2 ? 1005 : payload.readUInt16BE(0)
    }
    return null
  }

  /** What is whole of what the server sent after its head. */
  *frames(): Generator<{ readonly opcode: number; readonly payload: Buffer }> {
    const bytes = this.received
    let at = bytes.indexOf('\r\n\r\n') + 4
    while (at + 2 <= bytes.length) {
      const opcode = (bytes[at] ?? 0) & 0x0f
      let length = bytes[at + 1] ?? 0
      at += 2
      if (length > 125) {
        const width = length === 126 ? 2 : 6
        at += length === 126 ? 0 : 2
        if (at + width > bytes.length) return
        length = bytes.readUIntBE(at, width)
        at += width
      }
      if (at + length > bytes.length) return
      yield { opcode, payload: bytes.subarray(at, at + length) }
      at += length
    }
  }
}
