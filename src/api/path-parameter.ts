/** Parameters of paths that must not be empty. */
import { MusterError } from '../lib/errors.ts'
import type { ApiRequest } from './route.ts'

/** Throws `invalid_argument` for a path parameter that is not there. */
export function named(request: ApiRequest, parameter: string, what: string): string {
  const value = request.parameter(parameter)
  if (value === '') throw new MusterError('invalid_argument', `Missing ${what}`)
  return value
}
