/**
 * Paths as Vault's policies write them, and the patterns of `auth` rules that they stand for. What is below `auth/` has the
 * rest of its path as name there, what is below `sys/` the whole path: so `auth/*` is for all names but those.
 */
import { patternBut, patternOf, patternWithin, type Pattern } from './pattern-model.ts'
import { refuse } from './policy-source-model.ts'

const ofLogins = 'auth/'
const ofSystem = 'sys/'

/** Paths below `sys/` that ask for `auth` rights, as does what is below them. */
const systemPaths = [
  'sys/auth',
  'sys/capabilities',
  'sys/capabilities-accessor',
  'sys/locked-users',
] as const

/** Where Vault's command line tunes a login method: with the right for `sys/auth/<path>/tune`. */
const tuning = 'sys/mounts/auth/'
/** What that is the other name of. */
const tunes = 'sys/auth/'
const tunedMount = /^sys\/mounts\/auth\/(.+\/tune)$/

/** The name that `auth` rules have for a path; null: they are not for it. */
export function authNameOf(path: string): string | null {
  if (path.startsWith(ofLogins)) return path.slice(ofLogins.length)
  const tuned = tunedMount.exec(path)
  if (tuned !== null) return `sys/auth/${tuned[1] ?? ''}`
  return systemPaths.some((known) => isAtOrBelow(path, known)) ? path : null
}

/** null: a rule for it has no effect. Throws `invalid_argument` for a wildcard in the middle of what it might be for. */
export function patternOfPath(written: string, where: string): Pattern | null {
  const path = written.replace(/^\//, '')
  const hasStar = path.endsWith('*')
  const head = hasStar ? path.slice(0, -1) : path
  const wildcard = head.search(/[*+]/)
  if (wildcard >= 0) {
    const before = head.slice(0, wildcard)
    // Stored policies may hold one there: `refuseWildcards`.
    if (isBelowTuning(before) || patternOfPrefix(before) === null) return null
    return refuse(where, wildcardInside)
  }
  return hasStar ? patternOfPrefix(head) : patternOfExact(path)
}

const wildcardInside = 'a path has * at its end alone; write auth "*/login" for patterns'

/** Of a new policy: where stored ones may have a wildcard inside of a path, without effect. Throws `invalid_argument`. */
export function refuseWildcards(written: string, where: string): void {
  const head = written.replace(/^\//, '').replace(/\*$/, '')
  const wildcard = head.search(/[*+]/)
  if (wildcard >= 0 && isBelowTuning(head.slice(0, wildcard))) refuse(where, wildcardInside)
}

function isBelowTuning(head: string): boolean {
  return head.startsWith(tuning) && head.length > tuning.length
}

/** Whether a path that begins so may be one that rules have an effect on. */
export function mayHaveEffect(head: string): boolean {
  return patternOfPrefix(head.replace(/^\//, '')) !== null
}

/** Whether servers below command version 14 take a rule for it too. */
export function isReadByAll(written: string, where: string): boolean {
  if (patternOfPath(written, where) === null) return false
  return ['auth/', 'sys/auth', 'sys/locked-users'].some((known) => written.startsWith(known))
}

function patternOfExact(path: string): Pattern | null {
  if (path.startsWith(ofLogins + ofSystem)) return null
  const name = authNameOf(path)
  return name === null ? null : patternOf(name)
}

/** Of all paths that begin with `head`. */
function patternOfPrefix(head: string): Pattern | null {
  if (head === '') return patternOf('*')
  if (ofLogins.startsWith(head)) return patternBut('auth/*', '', ofSystem)
  if (head.startsWith(ofLogins)) {
    const rest = head.slice(ofLogins.length)
    if (rest.startsWith(ofSystem)) return null
    return ofSystem.startsWith(rest)
      ? patternBut(`auth/${rest}*`, rest, ofSystem)
      : patternOf(`${rest}*`)
  }
  if (ofSystem.startsWith(head)) return patternOf('sys/*')
  if (tuning.startsWith(head) || head.startsWith(tuning)) return patternOfTuning(head)
  const isKnown = systemPaths.some((known) => known.startsWith(head) || isAtOrBelow(head, known))
  return isKnown ? patternOf(`${head}*`) : null
}

/**
 * Of what tunes a login method, by a path that begins with `head`: as close as the same rule for `sys/auth/` is, so that a denial of either
 * of the two names holds. Below the name, and longer than `sys/`, a longer head is closer all the same.
 */
function patternOfTuning(head: string): Pattern {
  const rest = head.slice(tuning.length)
  const near = Math.min(1, head.length / tuning.length)
  const weight = tunes.length - 1 + near + rest.length
  return patternWithin(`${head}*`, [tunes, '/tune'], `${tunes}${rest}`, weight)
}

function isAtOrBelow(path: string, known: string): boolean {
  return path === known || path.startsWith(`${known}/`)
}
