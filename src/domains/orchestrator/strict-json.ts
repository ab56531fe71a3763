/**
 * JSON without members that are given twice: two readers of one text may each take another of the two, so the one that
 * checks and the one that believes would not see the same claims.
 */
import type { JsonObject } from '../../lib/json-object.ts'

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
  refuseTwins(text)
  return value
}

/** What matters of well-formed JSON: strings as they are escaped, and what surrounds them. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g

/** Names that the object has so far; null: a list. */
type Scope = Set<string> | null

function refuseTwins(text: string): void {
  const scopes: Scope[] = []
  let before = ''
  for (const [token] of text.matchAll(tokens)) {
    const scope = scopes.at(-1) ?? null
    if (token === '{' || token === '[') {
      if (scopes.length >= depthMax) throw new SyntaxError('this JSON is nested too deeply')
      scopes.push(token === '{' ? new Set() : null)
    } else if (token === '}' || token === ']') {
      scopes.pop()
    } else if (scope !== null && token.startsWith('"') && (before === '{' || before === ',')) {
      // Two spellings of one name are one name.
      const name = JSON.parse(token) as string
      if (scope.has(name)) throw new SyntaxError('this JSON has a member twice')
      scope.add(name)
    }
    before = token
  }
}

/** The member of that very object; undefined when it has none. `__proto__` is a name like any other. */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
