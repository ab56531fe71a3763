/** The API of a server as a client agent meets it: answers as a test says, and ends with the test. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { checkServerIdentity } from 'node:tls'
import type { Test } from 'tap'
import { Upstream, type UpstreamOptions } from '../../src/client-agent/upstream.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import type { Pem } from '../../src/tls/certificates.ts'

/** With a certificate: over TLS. */
export async function serverStandIn(
  t: Test,
  answer: RequestListener,
  pem: Pem | null = null,
): Promise<HttpAddress & { readonly server: Server }> {
  const server = pem === null ? createServer(answer) : createSecureServer(pem, answer)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { secure: pem !== null, host: '127.0.0.1', port, server }
}

const trustsAll: UpstreamOptions['trust'] = { tlsOnly: false, connection: { checkServerIdentity } }

export function upstreamTo(
  t: Test,
  places: () => readonly HttpAddress[],
  onFailed: UpstreamOptions['onFailed'] = () => {},
  trust = trustsAll,
): Upstream {
  const upstream = new Upstream({ places, onFailed, trust, clock: systemClock })
  t.teardown(() => upstream.stop())
  return upstream
}
