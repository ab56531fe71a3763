/** What the driver tells its callers went wrong. */
import { MusterError } from '../lib/errors.ts'
import type { Refusal } from './core/handover.ts'

/** An `AbortSignal`, or what stands for one. */
export type Signal = Pick<AbortSignal, 'aborted'>

export function assertWanted(signal: Signal | undefined): void {
  if (signal?.aborted === true) throw new MusterError('cancelled', 'the caller went away')
}

export function stoppedError(): MusterError {
  return new MusterError('unavailable', 'this server is stopping')
}

export function errorOf({ code, text }: Refusal): MusterError {
  switch (code) {
    case 'notLeader':
    case 'transferring':
      return new MusterError('not_leader', text)
    case 'overloaded':
      return new MusterError('overloaded', `${text}; nothing was written, try again`)
    case 'notNow':
      return new MusterError('unavailable', `${text}; try again`)
    case 'invalid':
      return new MusterError('invalid_argument', text)
  }
}

/** Of a read whose state cannot get as far as it has to. */
export function behindError(): MusterError {
  return new MusterError(
    'unavailable',
    'the disk of this server takes no writes, so its state is behind; ask another server, or for a stale read',
  )
}
