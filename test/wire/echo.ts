/** A server that sends every frame back, and wires to dial it with. */
import type { Test } from 'tap'
import { type Logger, silentLogger } from '../../src/lib/log.ts'
import type { VersionRange } from '../../src/wire/handshake.ts'
import { WireServer } from '../../src/wire/server.ts'
import type { WireStream } from '../../src/wire/stream.ts'
import type { WireTls } from '../../src/wire/tls.ts'
import { Wire } from '../../src/wire/wire.ts'

export const path = '/muster.test.Echo/Stream'

export type WireSpec = {
  id: string
  cluster?: string | (() => string)
  versions?: VersionRange
  connectTimeoutMs?: number
  tls?: WireTls
  log?: string[]
}

export function wireOf({ id, cluster = 'c1', log, ...options }: WireSpec): Wire {
  const clusterId = typeof cluster === 'string' ? () => cluster : cluster
  const logger: Logger = {
    ...silentLogger,
    warn: (_message, fields) => log?.push(String(fields?.['reason'])),
  }
  return new Wire({
    identity: () => ({ clusterId: clusterId(), serverId: id }),
    logger,
    ...options,
  })
}

export async function echoServer(t: Test, spec: WireSpec) {
  const wire = wireOf(spec)
  const accept = (stream: WireStream): void =>
    stream.start({
      onFrame: (frame) => void stream.write(frame),
      onDrain: () => {},
      onClose: () => {},
    })
  const services = [{ path, accept }]
  const server = new WireServer({ wire, bindAddress: '127.0.0.1', port: 0, services })
  const port = await server.listen()
  t.teardown(() => server.stop())
  return { wire, server, port, address: `127.0.0.1:${port}` }
}

export function collect(stream: WireStream): string[] {
  const frames: string[] = []
  stream.start({
    onFrame: (frame) => frames.push(frame.toString()),
    onDrain: () => {},
    onClose: () => {},
  })
  return frames
}
