/**
 * Names as rules write them: exact, or with `*` for any letters, also none. Matching is linear: the pieces between the
 * stars are looked for one after the other, and never again.
 */

export const patternLengthMax = 1_024
export const starsMax = 8

export type Pattern = {
  readonly text: string
  /** What stands between the stars; one piece: no star. */
  readonly pieces: readonly string[]
  /** How closely it fits: letters that are not stars. Without any star it is beyond all others. */
  readonly weight: number
  /** It fits nothing that begins so. */
  readonly except?: string
  /** It fits nothing that begins otherwise. What its last piece fits may reach into it. */
  readonly begins?: string
}

export const exactWeight = Number.MAX_SAFE_INTEGER

export function patternOf(text: string): Pattern {
  const pieces = text.split('*')
  const letters = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return { text, pieces, weight: pieces.length === 1 ? exactWeight : letters }
}

/** What begins with `head`, but for what begins with `except`. Closer than `*` also without letters. */
export function patternBut(text: string, head: string, except: string): Pattern {
  return { text, pieces: [head, ''], weight: Math.max(head.length, 0.5), except }
}

/** What begins with `head` and `begins`, and ends with `tail` behind `head`: `begins` may hold a part of `tail`. */
export function patternWithin(
  text: string,
  [head, tail]: readonly [head: string, tail: string],
  begins: string,
  weight: number,
): Pattern {
  return { text, pieces: [head, tail], weight, begins }
}

/** Equal for equal patterns alone. */
export function keyOf({ text, except, begins }: Pattern): string {
  if (except === undefined && begins === undefined) return text
  return `${text} !${except ?? ''} ^${begins ?? ''}`
}

export function isExact(pattern: Pattern): boolean {
  return pattern.pieces.length === 1
}

/** One star, at its end, and no exception. */
export function isPrefix(pattern: Pattern): boolean {
  if (pattern.except !== undefined || pattern.begins !== undefined) return false
  return pattern.pieces.length === 2 && pattern.pieces[1] === ''
}

/** What every name that it fits begins with. */
export function headOf(pattern: Pattern): string {
  return pattern.pieces[0] ?? ''
}

export function fits(pattern: Pattern, name: string): boolean {
  const { pieces } = pattern
  const head = headOf(pattern)
  if (pieces.length === 1) return name === head
  const tail = pieces[pieces.length - 1] ?? ''
  if (!name.startsWith(head) || !name.endsWith(tail)) return false
  if (pattern.begins !== undefined && !name.startsWith(pattern.begins)) return false
  const end = name.length - tail.length
  let at = head.length
  for (const piece of pieces.slice(1, -1)) {
    at = name.indexOf(piece, at)
    if (at < 0) return false
    at += piece.length
  }
  return at <= end && (pattern.except === undefined || !name.startsWith(pattern.except))
}

/** Whether it may fit a name that begins with `prefix`; true when in doubt. */
export function mayFitBelow(pattern: Pattern, prefix: string): boolean {
  const head = headOf(pattern)
  if (head.startsWith(prefix)) return true
  return !isExact(pattern) && prefix.startsWith(head)
}

/** Whether it fits whatever begins with `prefix`. */
export function fitsAllBelow(pattern: Pattern, prefix: string): boolean {
  return isPrefix(pattern) && prefix.startsWith(headOf(pattern))
}
