/** A directory that says what a test wants: right, wrong, too much or nothing. It speaks just enough LDAP. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'
import { berElement, readLength } from '../../src/domains/ldap/ber.ts'
import { envelopeOf } from '../../src/domains/ldap/messages.ts'

export type Asked = {
  readonly id: number
  readonly tag: number
  readonly message: Buffer
  readonly socket: Socket
}

export const tag = {
  bind: 0x60,
  bound: 0x61,
  unbind: 0x42,
  search: 0x63,
  entry: 0x64,
  done: 0x65,
  reference: 0x73,
  abandon: 0x50,
  extended: 0x77,
  extendedDone: 0x78,
} as const

/** One message of the directory's. */
export function message(id: number, operation: Buffer): Buffer {
  return berElement(0x30, Buffer.concat([integer(id), operation]))
}

/** An LDAPResult, as bind, search and extended operations end. */
export function result(id: number, kind: number, code = 0, more = Buffer.alloc(0)): Buffer {
  const content = [
    Buffer.from([0x0a, 1, code]),
    berElement(4, Buffer.alloc(0)),
    berElement(4, Buffer.alloc(0)),
    more,
  ]
  return message(id, berElement(kind, Buffer.concat(content)))
}

export function entry(
  id: number,
  dn: string,
  attributes: Readonly<Record<string, readonly (string | Buffer)[]>> = {},
): Buffer {
  const listed = Object.entries(attributes).map(([name, values]) =>
    berElement(
      0x30,
      Buffer.concat([
        berElement(4, Buffer.from(name)),
        berElement(0x31, Buffer.concat(values.map((value) => berElement(4, Buffer.from(value))))),
      ]),
    ),
  )
  return message(
    id,
    berElement(
      tag.entry,
      Buffer.concat([berElement(4, Buffer.from(dn)), berElement(0x30, Buffer.concat(listed))]),
    ),
  )
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return berElement(2, bytes)
}

export type FakeDirectory = {
  readonly url: string
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>
  /** Those that there ever were. */
  readonly counts: { connections: number }
}

/** `onAsked` for each whole request, `onConnected` for each connection. */
export async function startFakeDirectory(
  t: Test,
  onAsked: (asked: Asked) => void,
  onConnected: (socket: Socket) => void = () => undefined,
): Promise<FakeDirectory> {
  const open = new Set<Socket>()
  const counts = { connections: 0 }
  const server = createServer((socket) => {
    open.add(socket)
    counts.connections += 1
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
    let bytes = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (;;) {
        const length = readLength(bytes, 1)
        if (length === null || length === 'short') return
        const end = length.end + length.value
        if (bytes.length < end) return
        const whole = bytes.subarray(0, end)
        bytes = bytes.subarray(end)
        const envelope = envelopeOf(whole)
        if (envelope !== null) onAsked({ ...envelope, message: whole, socket })
      }
    })
    onConnected(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`, open, counts }
}
