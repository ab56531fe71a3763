/** The API of a server as a client agent meets it: answers as a test says, and ends with the test. */
import { createServer, type RequestListener } from 'node:http'
import type { Test } from 'tap'
import { Upstream } from '../../src/client/upstream.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { HttpPlace } from '../../src/member/gossip-tags.ts'

export async function serverStandIn(t: Test, answer: RequestListener): Promise<HttpPlace> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { secure: false, host: '127.0.0.1', port }
}

export function upstreamTo(
  t: Test,
  places: () => readonly HttpPlace[],
  onFailed: (place: HttpPlace) => void = () => {},
): Upstream {
  const upstream = new Upstream({
    places,
    onFailed,
    authorities: null,
    serverName: 'server.global.muster',
    clock: systemClock,
  })
  t.teardown(() => upstream.stop())
  return upstream
}
