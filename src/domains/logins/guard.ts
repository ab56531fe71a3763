/**
 * What a login method asks before it proves who logs in, and tells when the proof failed: a name that failed too often is locked
 * on all servers, and an address that fails too often waits.
 */
import { Type } from 'typebox'
import { MusterError, textOf } from '../../lib/errors.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { definePeerMethod, type LocalContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { lockLogin } from './lock-commands.ts'
import { LockName, lockNameOf } from './lock-model.ts'
import { MountId } from './model.ts'
import { isLocked, mountOf } from './queries.ts'
import { failedLogins, loginSources } from './services.ts'

/**
 * `name`: whose login it is, normalised as the method compares names; null: that is not known before the proof. Throws
 * `permission_denied` for a name that is locked, as for one that does not exist, and `rate_limited` for the address.
 */
export function admitLogin(context: LocalContext, mountId: string, name: string | null): void {
  const nowMs = context.clock.monotonicMs()
  const { remote } = context.caller
  const sources = context.service(loginSources)
  if (sources.waitMs(remote, nowMs) > 0) {
    throw new MusterError('rate_limited', 'too many failed logins from this address, try later')
  }
  const locked = name === null ? null : lockNameOf(name)
  if (locked === null) return
  if (!isLocked(context.read(), mountId, locked, context.clock.wallMs())) return
  sources.fail(remote, nowMs)
  throw nameIsLocked()
}

/** Of a login that began before the name was locked too: its answer does not tell whether the password was right. */
export function nameIsLocked(): MusterError {
  return denied('the name is locked after too many failed logins')
}

/**
 * The caller does not know the password, or shows no good token; not for a directory that fails. Resolves when it is counted,
 * also where the leader cannot be reached. Rejects with `permission_denied` when the name was locked meanwhile.
 */
export async function failedLogin(
  context: LocalContext,
  mountId: string,
  name: string | null,
): Promise<void> {
  const sources = context.service(loginSources)
  const { remote } = context.caller
  sources.fail(remote, context.clock.monotonicMs())
  const counted = name === null ? null : lockNameOf(name)
  if (counted === null) return
  let wasLocked = false
  try {
    const args = { mountId, name: counted }
    const reply = await context.service(askLeader)(context, countFailure, args)
    if (reply.stops === true) sources.stop(remote, context.clock.monotonicMs())
    wasLocked = reply.wasLocked === true
  } catch (error) {
    context.log.warn('a failed login could not be counted', { error: textOf(error) })
  }
  if (wasLocked) throw nameIsLocked()
}

type Counted = {
  readonly locked: boolean
  readonly stops?: boolean
  readonly wasLocked?: boolean
}

export const countFailure = definePeerMethod({
  kind: 'peer',
  at: 'leader',
  name: 'logins.countFailure',
  args: Type.Object({ mountId: MountId, name: LockName }),
  reply: Type.Object({
    locked: Type.Boolean(),
    /** The address has locked enough names: it waits instead of locking one more. */
    stops: Type.Optional(Type.Boolean()),
    /** Before this failure, which does not count then. */
    wasLocked: Type.Optional(Type.Boolean()),
  }),
  run: async (context, { mountId, name }): Promise<Counted> => {
    if (isLocked(context.read(), mountId, name, context.clock.wallMs())) {
      return { locked: true, wasLocked: true }
    }
    const mount = mountOf(context.read(), mountId)
    if (mount === null || mount.lockout.disabled) return { locked: false }
    const { clock, log } = context
    const { lockout, path } = mount
    const { remote, requestId } = context.caller
    const failed = context.service(failedLogins)
    if (!failed.fail(mountId, name, lockout, clock.monotonicMs())) return { locked: false }
    if (!failed.mayLock(remote, clock.monotonicMs())) {
      log.warn('an address that locked many names has to wait', { mount: path, remote, requestId })
      return { locked: false, stops: true }
    }
    const nowMs = Math.floor(clock.wallMs())
    const untilMs = nowMs + lockout.durationMs
    const { outcome } = await context.propose(lockLogin, { mountId, name, nowMs, untilMs })
    log.warn('a name is locked after too many failed logins', {
      mount: path,
      name,
      seconds: lockout.durationMs / 1_000,
      remote,
      requestId,
    })
    return outcome
  },
})
