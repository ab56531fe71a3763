/** Both ends of the link between two servers on real sockets, for the tests of calls and of streams over it. */
import type { Test } from 'tap'
import { GrpcPeerLink, type GrpcPeerLinkOptions } from '../../src/rpc/grpc.ts'
import type { CallRequest, CallTarget } from '../../src/rpc/link.ts'
import { WireServer, type WireService } from '../../src/wire/server.ts'
import { Wire } from '../../src/wire/wire.ts'

export function requestOf(method: string, args: unknown): CallRequest {
  const remote = '127.0.0.1:9'
  return { method, args, token: null, remote, requestId: 'r1', timeoutMs: 20_000 }
}

export function wireOf(serverId: string, connectTimeoutMs = 2_000): Wire {
  return new Wire({ identity: () => ({ clusterId: 'c1', serverId }), connectTimeoutMs })
}

/** Stopped with the test. */
export function linkOf(
  t: Test,
  options: Partial<GrpcPeerLinkOptions> & { connectTimeoutMs?: number } = {},
): GrpcPeerLink {
  const link = new GrpcPeerLink({ wire: wireOf('a', options.connectTimeoutMs), ...options })
  t.teardown(() => link.stop())
  return link
}

/** Server `b` with one service, stopped with the test. */
export async function serverWith(t: Test, serviceOn: (wire: Wire) => WireService) {
  const wire = wireOf('b')
  const services = [serviceOn(wire)]
  const server = new WireServer({ wire, bindAddress: '127.0.0.1', port: 0, services })
  const port = await server.listen()
  t.teardown(() => server.stop())
  const target: CallTarget = { address: `127.0.0.1:${port}`, id: 'b' }
  return { server, port, target }
}
