/** What methods that change a job share. */
import { randomUUID } from 'node:crypto'
import { MusterError } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { checkNamespaceName } from '../namespaces/model.ts'
import { settingsOf } from '../scheduler-settings/queries.ts'
import { jobOf } from './queries.ts'
import type { JobRow } from './table.ts'

/** What the proposer of an entry chooses. */
export function chosen({ clock }: LeaderContext) {
  return { evaluationId: randomUUID(), nowMs: Math.floor(clock.wallMs()) }
}

export function known(context: LeaderContext, namespace: string, id: string): JobRow {
  checkNamespaceName(namespace)
  const job = jobOf(context.read(), namespace, id)
  if (job === null) throw unknownJob()
  return job
}

export function unknownJob(): MusterError {
  return new MusterError('not_found', 'job not found')
}

/** Throws `not_implemented` for an option that came with a command version, until every server knows that. */
export function mustKnow(context: LeaderContext, since: number, option: string): void {
  if (context.read().commandVersion < since) throw knownLater(option)
}

export function knownLater(option: string): MusterError {
  const text = `${option} is known only once every server has this version: upgrade the others`
  return new MusterError('not_implemented', text)
}

/** Throws `permission_denied` while only operators may register, dispatch and scale jobs, and the caller is none. */
export function mustTakeJobs(context: LeaderContext): void {
  if (!settingsOf(context.read()).rejectsJobs) return
  if (context.may({ resource: 'operator', access: 'write' })) return
  throw denied('job registration, dispatch and scale are disabled by the scheduler configuration')
}
