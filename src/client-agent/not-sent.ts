/** An attempt of which nothing has reached the server: another server may be asked for anything. */
import { textOf } from '../lib/errors.ts'
import { untrustedBy } from './server-trust.ts'

export class NotSent extends Error {
  override readonly name = 'NotSent'
}

/** Because of this. */
export function notSent(error: Error): Error {
  if (error instanceof NotSent) return error
  const cause = untrustedBy(error) ?? error
  return new NotSent(textOf(cause), { cause })
}
