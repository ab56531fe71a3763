/** Names of users and groups as local mappings have them: lower-case unless the configuration says otherwise. */
import { MusterError } from '../../lib/errors.ts'
import { normalisedDn, parseDn } from './dn.ts'
import { nameKeyLengthMax, nameLengthMax } from './model.ts'

export type CaseRule = { readonly caseSensitiveNames: boolean }

/** As it is shown. */
export function shownName(name: string, { caseSensitiveNames }: CaseRule): string {
  return caseSensitiveNames ? name : name.toLowerCase()
}

/** What finds a user. */
export function userKey(name: string, rule: CaseRule): string {
  return shownName(name, rule)
}

/** What logins are counted and locked by: blanks at either end make no other name. */
export function lockKey(name: string, rule: CaseRule): string {
  return userKey(name.trim(), rule)
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

/** Of a path or of a list. Throws `invalid_argument`. */
export function checkName(what: string, name: string): void {
  if (name === '' || name.length > nameLengthMax) {
    throw new MusterError('invalid_argument', `${what} must have 1 to ${nameLengthMax} characters`)
  }
  if (unusable.test(name)) {
    throw new MusterError('invalid_argument', `${what} must not have control characters`)
  }
}
