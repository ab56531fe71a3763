/** One TCP connection: made is passing. */
import { connect } from 'node:net'
import { onAbort } from '../../../lib/async.ts'
import type { OwnProbe } from '../definition.ts'
import type { ProbeResult } from './probe-result.ts'

export function lookByTcp(
  { host, port }: Extract<OwnProbe, { type: 'tcp' }>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeResult>()
  const socket = connect({ host, port })
  const end = (): void => {
    socket.destroy(new Error(`TCP connect ${host}:${port}: no answer in time`))
  }
  socket.on('connect', () => {
    resolve({ status: 'passing', output: `TCP connect ${host}:${port}: Success` })
    socket.destroy()
  })
  socket.on('error', reject)
  socket.on('close', onAbort(signal, end))
  return promise
}
