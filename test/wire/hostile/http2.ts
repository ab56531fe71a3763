/** HTTP/2 and gRPC by hand, so that every rule of them can be broken. */
import { connect, type Socket } from 'node:net'
import { eventuallyTrue } from '../../support/eventually.ts'

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const
export const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const

export function frame(type: number, flag: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flag
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

export const settings = frame(frameTypes.settings, 0, 0, Buffer.alloc(0))

export const acknowledged = frame(frameTypes.settings, flags.ack, 0, Buffer.alloc(0))

/** A header that no table holds, in the plainest form HPACK has. */
export function header(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const rest = [127]
  let left = bytes.length - 127
  for (; left >= 128; left >>>= 7) rest.push((left & 127) | 128)
  return Buffer.concat([Buffer.from([...rest, left]), bytes])
}

export type CallHead = {
  readonly method?: string
  readonly type?: string
  readonly more?: readonly (readonly [string, string])[]
}

export function callHead(path: string, { method, type, more = [] }: CallHead = {}): Buffer {
  const fields: readonly (readonly [string, string])[] = [
    [':method', method ?? 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'muster'],
    ['content-type', type ?? 'application/grpc'],
    ['te', 'trailers'],
    ...more,
  ]
  return Buffer.concat(fields.map(([name, value]) => header(name, value)))
}

export function open(stream: number, path: string, head: CallHead = {}, flag = 0): Buffer {
  return frame(frameTypes.headers, flags.endHeaders | flag, stream, callHead(path, head))
}

/** Of gRPC: its head, then frames of HTTP/2 that every receiver takes. */
export function message(
  stream: number,
  bytes: Uint8Array,
  compressed = 0,
  length = bytes.length,
): Buffer {
  const head = Buffer.alloc(5)
  head[0] = compressed
  head.writeUInt32BE(length, 1)
  const whole = Buffer.concat([head, bytes])
  const parts = []
  for (let at = 0; at < whole.length; at += 16_384) {
    parts.push(frame(frameTypes.data, 0, stream, whole.subarray(at, at + 16_384)))
  }
  return Buffer.concat(parts)
}

/** Room for everything the server and this side have to say. */
export function windows(stream: number): Buffer {
  const most = Buffer.from([0x7f, 0, 0, 0])
  return Buffer.concat([0, stream].map((id) => frame(frameTypes.window, 0, id, most)))
}

const heardBytesMax = 4_096

/** A connection that listens to nothing it is told. */
export class Attacker {
  readonly socket: Socket
  #heard = Buffer.alloc(0)

  /** `reads`: whether it takes the bytes that come. */
  constructor(port: number, reads = true) {
    this.socket = connect({ port, host: '127.0.0.1' })
    this.socket.on('error', () => {})
    if (!reads) this.socket.pause()
    else {
      this.socket.on('data', (bytes: Buffer) => {
        this.#heard = Buffer.concat([this.#heard, bytes]).subarray(-heardBytesMax)
      })
    }
  }

  get gone(): boolean {
    return this.socket.destroyed
  }

  /** Resolves once the kernel has it, or the other side hung up. */
  send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.gone || !this.socket.writable) {
        resolve()
        return
      }
      const done = (): void => {
        this.socket.off('close', done)
        resolve()
      }
      this.socket.once('close', done)
      this.socket.write(bytes, done)
    })
  }

  /** Resolves once the server has said this, or hung up. */
  async hears(what: string): Promise<void> {
    await eventuallyTrue(`hears ${what}`, () => this.gone || this.#heard.includes(what))
  }

  async connected(): Promise<void> {
    await eventuallyTrue('connected', () => this.gone || !this.socket.connecting)
  }

  hangUp(): void {
    if (this.socket.connecting || this.gone) this.socket.destroy()
    else this.socket.resetAndDestroy()
  }
}
