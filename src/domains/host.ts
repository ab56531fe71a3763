/** What a process provides to its domains, whichever they are, and what it wants of them, whichever provides it. */
import type { Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Authorizer } from '../rpc/authorizer.ts'
import { serviceKey } from '../rpc/services.ts'
import type { ReadableState } from '../rpc/state.ts'

/** A view of this server's state as it is; the caller closes it. */
export type OpenView = () => Reader & { close(): void }

/** Opens views. Not provided in a process that has no state. */
export const openView = serviceKey<OpenView>('view')

/**
 * Reads this server's state, and closes the view behind it: before it returns, or once the promise that `read` returns is
 * settled. Throws what `open` throws.
 */
export function onView<Result>(
  open: OpenView,
  read: (reader: Reader) => Promise<Result>,
): Promise<Result>
export function onView<Result>(open: OpenView, read: (reader: Reader) => Result): Result
export function onView<Result>(
  open: OpenView,
  read: (reader: Reader) => Result | Promise<Result>,
): Result | Promise<Result> {
  const view = open()
  let result: Result | Promise<Result>
  try {
    result = read(view)
  } catch (error) {
    view.close()
    throw error
  }
  if (result instanceof Promise) return result.finally(() => view.close())
  view.close()
  return result
}

/** This server's state, for who reads it and waits until what it read changes. */
export const watchedState = serviceKey<Pick<ReadableState, 'view' | 'park'>>('watchedState')

/** This server's state, as it is whenever it is read. */
export const stateReader = serviceKey<Reader>('stateReader')

/**
 * Resolves once this server's state is as new as the leader's (`leader`), or holds all that was acknowledged before
 * (`linearizable`). Rejects after `waitMs`, or when the signal fires.
 */
export type ReadBarrier = (
  kind: 'leader' | 'linearizable',
  waitMs: number,
  signal: AbortSignal,
) => Promise<void>

/** A server that is behind has so long to learn what the leader knows. */
const freshMs = 5_000

/** What feeds of client agents begin with: an agent that comes anew, or from a server that knew more, is told nothing older than it knows. */
export async function caughtUpTo(
  index: number,
  appliedIndex: number,
  barrier: ReadBarrier,
  signal: AbortSignal,
): Promise<void> {
  if (index === 0 || appliedIndex < index) await barrier('leader', freshMs, signal)
}

export const readBarrier = serviceKey<ReadBarrier>('readBarrier')

/** Of the domain that says who may do what. */
export const authorizer = serviceKey<Authorizer & TokenOwners>('authorizer')

/** Tells whose a token is. */
export interface TokenOwners {
  /** By its secret, on the state of this server; null: nobody's that it knows of. */
  accessorOf(token: string): string | null
}

/** What happened to a name that logs in, for the audit log beside the lines of requests. */
export type LoginAuditEvent = {
  readonly type: 'lockout' | 'unlock'
  /** Of the request that led to it. */
  readonly requestId: string
  readonly remote: string
  /** Of the token of that request; null: it needed none. */
  readonly accessor: string | null
  /** Path of the mount. */
  readonly mount: string
  readonly name: string
  /** Of a lockout; null: it ended here. */
  readonly untilMs: number | null
}

/** The audit log of this server, as far as domains write to it. At once, and never throws. */
export const auditEvents = serviceKey<{ note(event: LoginAuditEvent): void }>('auditEvents')

/** Hashes a secret as the audit log shows it. */
export type SecretHasher = { of(secret: string): string }

/** Of the domain that holds the cluster's keys. Null while this server lacks the key. */
export const secretHasher = serviceKey<() => Promise<SecretHasher | null>>('secretHasher')

export type OpenedText = { readonly text: string; readonly keyId: string }

/** Seals texts that only servers of this cluster can open: for what clients keep and no server stores. */
export interface TextSealer {
  /** In letters that a header takes. Rejects with `unavailable` when this server has no key to seal with for some seconds. */
  seal(
    context: { read(): Reader; readonly clock: Clock; readonly signal: AbortSignal },
    text: string,
  ): Promise<string>
  /** null: this is not what `seal` made, letter by letter, or this server cannot open it. Never throws. */
  open(reader: Reader, sealed: string): OpenedText | null
  /** Whether the key is still in the keyring. */
  stands(reader: Reader, keyId: string): boolean
}

/** Of the domain that holds the cluster's keys. */
export const textSealer = serviceKey<TextSealer>('textSealer')
