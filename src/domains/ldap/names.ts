/** Names of users and groups as local mappings have them: lower-case unless the configuration says otherwise. */
import { MusterError } from '../../lib/errors.ts'
import { normalisedDn, normalisedValue, parseDn } from './dn.ts'
import { nameKeyLengthMax, nameLengthMax } from './model.ts'

export type CaseRule = { readonly caseSensitiveNames: boolean }

/** As it is shown. */
export function shownName(name: string, { caseSensitiveNames }: CaseRule): string {
  return caseSensitiveNames ? name : name.toLowerCase()
}

/**
 * Equal for all spellings that directories take for one name: compatible letters (full-width ones), letter case, blanks and letters
 * that nobody sees (RFC 4518). Doing it again changes nothing.
 */
export function normalName(name: string): string {
  const seen = name.replaceAll(unseen, '')
  const key = normalisedValue(normalisedValue(seen).replaceAll('ς', 'σ'))
  return key === '' || key.length > nameKeyLengthMax ? name.toLowerCase() : key
}

/** What string preparation maps to nothing. */
const unseen =
  /\u034f|[\ufe00-\ufe0f]|[\u00ad\u06dd\u070f\u1806\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2063\u206a-\u206f\ufeff\ufff9-\ufffc\u{1d173}-\u{1d17a}\u{e0001}\u{e0020}-\u{e007f}]/gu

/** What finds a user: a new one is written by the first. The others are of rows that earlier versions wrote. */
export function userKeys(name: string, rule: CaseRule): readonly [string, ...string[]] {
  if (rule.caseSensitiveNames) return [name]
  const key = normalName(name)
  const earlier = name.toLowerCase()
  return key === earlier ? [key] : [key, earlier]
}

/** As users are listed: by what finds them, for rules go by that, unless it is too long. */
export function shownUser(name: string, rule: CaseRule): string {
  const [key] = userKeys(name, rule)
  return key.length > nameLengthMax ? shownName(name, rule) : key
}

/** What logins are counted and locked by, also where mappings tell letter case apart: directories do not. */
export function lockKey(name: string): string {
  return normalName(name)
}

/**
 * What finds a group. A directory may call one by its distinguished name, and spell that now in one way and now in another: both
 * find the same mapping.
 */
export function groupKey(name: string, rule: CaseRule): string {
  if (rule.caseSensitiveNames) return name
  const key = parseDn(name) === null ? '' : normalisedDn(name)
  return key === '' || key.length > nameKeyLengthMax ? name.toLowerCase() : key
}

/** Whether a mapping can have this name, which came from a directory. */
export function isName(name: string): boolean {
  return name !== '' && name.length <= nameLengthMax && !unusable.test(name)
}

const unusable = /\p{Cc}|\p{Cs}|\ufffd/u

/** Of a mapping, as it is sent and as it is stored: lower case may be longer. Throws `invalid_argument`. */
export function checkMappedName(what: string, name: string, rule: CaseRule): void {
  checkName(what, name)
  checkName(`${what}, in lower case,`, shownName(name, rule))
}

/** Of a path or of a list. Throws `invalid_argument`. */
export function checkName(what: string, name: string): void {
  if (name === '' || name.length > nameLengthMax) {
    throw new MusterError('invalid_argument', `${what} must have 1 to ${nameLengthMax} characters`)
  }
  if (unusable.test(name)) {
    throw new MusterError('invalid_argument', `${what} must not have control characters`)
  }
}
