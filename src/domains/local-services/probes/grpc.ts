/** One call of `grpc.health.v1.Health/Check`: serving is passing. */
import { Client, credentials } from '@grpc/grpc-js'
import { onAbort } from '../../../lib/async.ts'
import type { OwnProbe } from '../definition.ts'
import type { ProbeResult } from './probe-result.ts'

type GrpcProbe = Extract<OwnProbe, { type: 'grpc' }>

const path = '/grpc.health.v1.Health/Check'
const answerBytesMax = 64 * 1024
const serving = 1
const words = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

export async function lookByGrpc(probe: GrpcProbe, signal: AbortSignal): Promise<ProbeResult> {
  const security = probe.tls
    ? credentials.createSsl(null, null, null, { rejectUnauthorized: !probe.tlsSkipVerify })
    : credentials.createInsecure()
  const client = new Client(probe.target, security, {
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
    'grpc.max_receive_message_length': answerBytesMax,
    'grpc.use_local_subchannel_pool': 1,
    ...(probe.tlsServerName !== undefined && {
      'grpc.ssl_target_name_override': probe.tlsServerName,
    }),
  })
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const call = client.makeUnaryRequest(
    path,
    encodeRequest,
    decodeAnswer,
    probe.service,
    (error, answer) => {
      if (error === null) resolve(answer ?? 0)
      else reject(new Error(`gRPC check ${probe.target}: ${error.message}`))
    },
  )
  const stopListening = onAbort(signal, () => call.cancel())
  try {
    const status = await promise
    const word = words[status] ?? String(status)
    return {
      status: status === serving ? 'passing' : 'critical',
      output: `gRPC check ${probe.target}: ${word}`,
    }
  } finally {
    stopListening()
    client.close()
  }
}

/** HealthCheckRequest: field 1, the service's name. */
function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service)
  if (name.length === 0) return Buffer.alloc(0)
  const length: number[] = []
  let rest = name.length
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128)
  return Buffer.concat([Buffer.from([0x0a, ...length, rest]), name])
}

/** HealthCheckResponse: field 1, the status as a number. Absent is 0; fields of later versions may follow. */
function decodeAnswer(bytes: Buffer): number {
  return bytes[0] === 0x08 ? (bytes[1] ?? 0) : 0
}
