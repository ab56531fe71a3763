/**
 * Words the rest is written in. `lib` imports nothing of ours and no packages; everything may import it.
 *
 * Assertions guard invariants and stay on in production: a broken one means the program is wrong,
 * and the process stops before it can write a wrong answer down.
 */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** `message` is built whether or not the condition holds: where every request comes by, throw an `AssertionError` with one that has parts. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** The value of something that an invariant says is there. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionError(`${what} is missing`)
  return value
}

/** Ends a switch over a union: adding a case without handling it does not compile. */
export function assertNever(value: never): never {
  throw new AssertionError(`unexpected value ${JSON.stringify(value)}`)
}
