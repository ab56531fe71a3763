/** The body of a request from words of a command line. */
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { isSpec, itemOf } from '../../items.ts'
import type { Sources } from '../../source.ts'

/** `[@FILE | -] [KEY=VALUE...]`. Values are texts, which these paths read as what they need; a key that is given twice is a list. */
export async function bodyOf(words: readonly string[], sources: Sources): Promise<JsonObject> {
  const [first = '', ...rest] = words
  const spec = isSpec(first)
  const body = new Map<string, Json>(
    spec ? Object.entries(await sources.specification(first === '-' ? '-' : first.slice(1))) : [],
  )
  const given = new Map<string, string[]>()
  for (const word of spec ? rest : words) {
    const [key, value] = await itemOf(word, sources)
    const values = given.get(key)
    if (values === undefined) given.set(key, [value])
    else values.push(value)
  }
  for (const [key, values] of given) body.set(key, values.length === 1 ? (values[0] ?? '') : values)
  return Object.fromEntries(body)
}
