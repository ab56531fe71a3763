/** One TCP connection: made is passing, and of one with TLS its handshake too. */
import { connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { onAbort } from '../../../lib/async.ts'
import type { OwnProbe } from '../definition.ts'
import type { ProbeResult } from './probe-result.ts'

type TcpProbe = Extract<OwnProbe, { type: 'tcp' }>

export function lookByTcp(probe: TcpProbe, signal: AbortSignal): Promise<ProbeResult> {
  const { host, port, tls } = probe
  const { promise, resolve, reject } = Promise.withResolvers<ProbeResult>()
  const socket = tls === undefined ? connect({ host, port }) : secured(host, port, tls)
  const what = `TCP connect ${host}:${port}${tls === undefined ? '' : ' with TLS'}`
  const end = (): void => {
    socket.destroy(new Error(`${what}: no answer in time`))
  }
  socket.on(tls === undefined ? 'connect' : 'secureConnect', () => {
    resolve({ status: 'passing', output: `${what}: Success` })
    // Its last message of a handshake leaves first: the server would call it broken.
    socket.end(() => socket.destroy())
  })
  socket.on('error', reject)
  socket.on('close', onAbort(signal, end))
  return promise
}

/** Without a name of its own it must be the certificate of the host. */
function secured(
  host: string,
  port: number,
  { skipVerify, serverName }: NonNullable<TcpProbe['tls']>,
) {
  const servername = serverName ?? (isIP(host) === 0 ? host : undefined)
  return connectTls({
    host,
    port,
    rejectUnauthorized: !skipVerify,
    ...(servername !== undefined && { servername }),
  })
}
