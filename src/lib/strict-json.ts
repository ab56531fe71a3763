/**
 * JSON without members that are given twice: two readers of one text may each take another of the two, so the one that
 * checks and the one that believes would not see the same claims.
 */
import type { JsonObject } from './json-object.ts'

/** Objects and lists inside one another. */
export const depthMax = 32

/** Throws a `SyntaxError` whose text repeats nothing of what it read. */
export function parseStrictJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The library's own words quote the text.
    throw new SyntaxError('this is not JSON')
  }
  if (doubledMember(text, depthMax) !== null) throw new SyntaxError('this JSON has a member twice')
  return value
}

/** What matters of well-formed JSON: strings as they are escaped, and what surrounds them. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g

type Scope = {
  /** That the object has so far; null: a list. */
  readonly names: Set<string> | null
  /** The member or the item that is being read. */
  at: string | number
}

/**
 * Of well-formed JSON, the path of the first member that its object has before, as `a.b[0].c`; null: there is none. Throws a
 * `SyntaxError` for more than `levelsMax` objects and lists inside one another.
 */
export function doubledMember(text: string, levelsMax: number = Infinity): string | null {
  const scopes: Scope[] = []
  let before = ''
  for (const [token] of text.matchAll(tokens)) {
    const scope = scopes.at(-1)
    const names = scope?.names ?? null
    if (token === '{' || token === '[') {
      if (scopes.length >= levelsMax) throw new SyntaxError('this JSON is nested too deeply')
      scopes.push(token === '{' ? { names: new Set(), at: '' } : { names: null, at: 0 })
    } else if (token === '}' || token === ']') {
      scopes.pop()
    } else if (token === ',' && typeof scope?.at === 'number') {
      scope.at += 1
    } else if (scope !== undefined && names !== null && isName(token, before)) {
      // Two spellings of one name are one name.
      const name = JSON.parse(token) as string
      scope.at = name
      if (names.has(name)) return pathOf(scopes)
      names.add(name)
    }
    before = token
  }
  return null
}

function isName(token: string, before: string): boolean {
  return token.startsWith('"') && (before === '{' || before === ',')
}

function pathOf(scopes: readonly Scope[]): string {
  const steps = scopes.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${at}`))
  return steps.join('').replace(/^\./, '')
}

/** The member of that very object; undefined when it has none. `__proto__` is a name like any other. */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
