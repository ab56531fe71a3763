/** What is said of ids that this agent has not. */
import { MusterError } from '../../lib/errors.ts'
import { keyOfName, membershipCheckId } from '../catalog/model.ts'

export function unknownService(id: string): MusterError {
  return new MusterError('not_found', `Unknown service ID ${JSON.stringify(id.slice(0, 256))}`)
}

export function unknownCheck(id: string): MusterError {
  const text = JSON.stringify(id.slice(0, 256))
  return new MusterError(
    'not_found',
    keyOfName(id) === keyOfName(membershipCheckId)
      ? `Unknown check ID ${text}: the leader keeps that one`
      : `Unknown check ID ${text}: it must be registered with this agent`,
  )
}
