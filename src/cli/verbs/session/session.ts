/** What the commands about sessions share. */
import { integerOf, listOf, textOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { formatDurationNs } from '../../../lib/duration.ts'

/** `15s`; `-` for one that lives until it is ended. */
export function ttlOf(session: JsonObject): string {
  return textOf(session, 'TTL') || '-'
}

export function lockDelayOf(session: JsonObject): string {
  return formatDurationNs(BigInt(integerOf(session, 'LockDelay')))
}

/** The ids of the checks it is bound to. */
export function checksOf(session: JsonObject): string {
  const names = [...listOf(session['NodeChecks'])].map(String)
  return names.length === 0 ? '-' : names.join(', ')
}
