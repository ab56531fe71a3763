/**
 * What the leader does for tokens: removes those whose time is over (they are refused from that moment on anyway), with
 * what hangs on them, and makes the first token of the configuration where there is none yet.
 */
import { codeOf, textOf } from '../../lib/errors.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { deleteTokens, type DeleteTokens } from './commands.ts'
import { issueFirstToken } from './issue.ts'
import { bootstrapOf, expiredTokens, tokensPerEntryMax } from './queries.ts'

/** A token's sessions end at most this much later than the token, and a turn of work. */
const roundMs = 500
const retryMs = 2_000

export type AclDutyContext = DutyContext & {
  /** Of the configuration; null: none. */
  readonly bootstrapToken: string | null
}

export function startAclDuties(context: AclDutyContext): Running {
  let begun = context.bootstrapToken === null
  return periodic({
    ...context,
    failure: 'a round of access control duties failed',
    everyMs: roundMs,
    retryMs,
    async round() {
      if (!begun) await begin(context)
      begun = true
      return (await removeExpired(context)) ? 0 : roundMs
    },
  })
}

async function begin({ bootstrapToken, view, propose, clock, log }: AclDutyContext): Promise<void> {
  const before = onView(view, bootstrapOf)
  if (before !== null || bootstrapToken === null) return
  try {
    const { row } = await issueFirstToken({ clock, propose }, bootstrapToken, null)
    log.info('access control began with the token of the configuration', {
      accessor: row.accessor,
    })
  } catch (error) {
    // Another request was faster, or the secret is one that no token can have: another round would not change that.
    if (codeOf(error) !== 'invalid_argument') throw error
    log.warn('the token of the configuration was not used', { reason: textOf(error) })
  }
}

/** True: there may be more. */
async function removeExpired({ view, propose, clock, log }: AclDutyContext): Promise<boolean> {
  const nowMs = Math.floor(clock.wallMs())
  const rows = await onView(view, (reader) => expiredTokens(reader, nowMs))
  if (rows.length === 0) return false
  const accessors = rows.map(({ accessor }) => accessor)
  const args: DeleteTokens = { accessors, nowMs, expiredOnly: true }
  await propose(deleteTokens, args)
  log.info('tokens expired and were removed', { tokens: rows.length })
  return rows.length === tokensPerEntryMax
}
