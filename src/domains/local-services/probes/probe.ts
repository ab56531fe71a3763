/** The choice among the kinds of looks. */
import { assertNever } from '../../../lib/assert.ts'
import { textOf } from '../../../lib/errors.ts'
import type { OwnProbe } from '../definition.ts'
import { cutOutput } from '../../catalog/model.ts'
import { lookByGrpc } from './grpc.ts'
import { lookByHttp } from './http.ts'
import { lookByScript } from './script.ts'
import type { ProbeResult } from './probe-result.ts'
import { lookByTcp } from './tcp.ts'

/** Never rejects: what goes wrong is critical. Soon after `signal` it has ended, with whatever it found. */
export async function look(probe: OwnProbe, signal: AbortSignal): Promise<ProbeResult> {
  try {
    const { status, output } = await lookBy(probe, signal)
    return { status, output: cutOutput(output) }
  } catch (error) {
    return { status: 'critical', output: cutOutput(textOf(error)) }
  }
}

function lookBy(probe: OwnProbe, signal: AbortSignal): Promise<ProbeResult> {
  const { type } = probe
  switch (type) {
    case 'http':
      return lookByHttp(probe, signal)
    case 'tcp':
      return lookByTcp(probe, signal)
    case 'grpc':
      return lookByGrpc(probe, signal)
    case 'script':
      return lookByScript(probe, signal)
    default:
      return assertNever(type)
  }
}
