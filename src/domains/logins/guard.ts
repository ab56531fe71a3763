/**
 * What a login method asks before it proves who logs in, and tells when the proof failed: a name that failed too often is locked
 * on all servers, and an address that fails too often waits.
 */
import { Type } from 'typebox'
import { auditEvents } from '../host.ts'
import { delay } from '../../lib/async.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { definePeerMethod, type LocalContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { lockLogin } from './lock-commands.ts'
import { LockName, lockNameOf } from './lock-model.ts'
import { MountId } from './model.ts'
import { isLocked, mountOf } from './queries.ts'
import { failedLogins, loginSources, refusalTimes } from './services.ts'

/**
 * `name`: whose login it is, normalised as the method compares names; null: that is not known before the proof. Rejects with
 * `rate_limited` for the address, and for a name that is locked with `refusal`, the method's own for any failed login, after as
 * long as that takes.
 */
export async function admitLogin(
  context: LocalContext,
  mountId: string,
  name: string | null,
  refusal: () => MusterError,
): Promise<void> {
  const refused = refusedUnproved(context, mountId, name)
  if (refused === null) return
  if (refused.code === 'rate_limited') throw refused
  const { clock, log, signal, caller } = context
  log.debug('a login was refused', { requestId: caller.requestId, error: refused.message })
  await delay(clock, context.service(refusalTimes).draw(mountId), signal)
  throw refusal()
}

/** Why a login is refused that proves nothing yet: the address waits, or the name is locked. null: it is not. */
export function refusedUnproved(
  context: LocalContext,
  mountId: string,
  name: string | null,
): MusterError | null {
  const nowMs = context.clock.monotonicMs()
  const { remote } = context.caller
  const sources = context.service(loginSources)
  if (sources.waitMs(remote, nowMs) > 0) {
    return new MusterError('rate_limited', 'too many failed logins from this address, try later')
  }
  const locked = name === null ? null : lockNameOf(name)
  if (locked === null) return null
  if (!isLocked(context.read(), mountId, locked, context.clock.wallMs())) return null
  sources.fail(remote, nowMs)
  return nameIsLocked()
}

/** Of a login that began before the name was locked too: its answer does not tell whether the password was right. */
export function nameIsLocked(): MusterError {
  return denied('the name is locked after too many failed logins')
}

/**
 * The caller does not know the password, or shows no good token; not for a directory that fails. Resolves when it is counted,
 * also where the leader cannot be reached: to whether the name was locked before. `beganMs`: monotonic; null: no login.
 */
export async function failedLogin(
  context: LocalContext,
  mountId: string,
  name: string | null,
  beganMs: number | null,
): Promise<boolean> {
  const sources = context.service(loginSources)
  const { clock } = context
  const { remote } = context.caller
  sources.fail(remote, clock.monotonicMs())
  const counted = name === null ? null : lockNameOf(name)
  if (counted === null) return false
  let wasLocked = false
  try {
    const args = { mountId, name: counted }
    const reply = await context.service(askLeader)(context, countFailure, args)
    if (reply.stops === true) sources.stop(remote, clock.monotonicMs())
    wasLocked = reply.wasLocked === true
  } catch (error) {
    context.log.warn('a failed login could not be counted', { error: textOf(error) })
  }
  if (beganMs !== null) context.service(refusalTimes).add(mountId, clock.monotonicMs() - beganMs)
  return wasLocked
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
    context.service(auditEvents).note({
      type: 'lockout',
      requestId,
      remote,
      accessor: null,
      mount: path,
      name,
      untilMs,
    })
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
