/** UUIDs as lists show them and as people type them: the front of one, as long as only one begins so. */
import { MusterError } from '../lib/errors.ts'
import { listOf, objectOf, textOf } from './api/answer.ts'
import type { ApiClient, Search } from './api/client.ts'
import type { JsonObject } from '../lib/exact-json.ts'

const uuidLength = 36
const shortLength = 8
const shownMax = 20

export function shortId(id: string): string {
  return id.slice(0, shortLength)
}

/** As people are shown it: what is not there has a word. */
export function shownId(id: string, verbose: boolean): string {
  return id === '' ? '<none>' : verbose ? id : shortId(id)
}

export type Listed = {
  /** `node`, of which there are `nodes`. */
  readonly what: string
  /** That lists them, and takes `prefix`. */
  readonly path: string
  readonly search?: Search
  /** What tells two of them apart for people. */
  readonly nameOf: (row: JsonObject) => string
}

/** The whole id. Throws where none or several begin with what is given. */
export async function findId(
  client: ApiClient,
  given: string,
  { what, path, search = {}, nameOf }: Listed,
): Promise<string> {
  const id = given.toLowerCase()
  if (id.length >= uuidLength) return id
  if (!/^[0-9a-f-]+$/.test(id)) {
    throw new MusterError(
      'invalid_argument',
      `${JSON.stringify(given)} is no id: those of ${what}s have the digits 0 to 9 and a to f`,
    )
  }
  // The API takes whole bytes: what is odd is asked for with a digit less, and sorted out here.
  const isOdd = id.replaceAll('-', '').length % 2 === 1
  const json = await client.get(path, { ...search, prefix: isOdd ? id.slice(0, -1) : id })
  const found = listOf(json)
    .map(objectOf)
    .filter((row) => textOf(row, 'ID').startsWith(id))
  return textOf(theOnly(found, { given, what, nameOf }), 'ID')
}

type Asked = Pick<Listed, 'what' | 'nameOf'> & { readonly given: string }

export function theOnly(found: readonly JsonObject[], { given, what, nameOf }: Asked): JsonObject {
  const [first] = found
  const begin = `id that begins with ${JSON.stringify(given)}`
  if (first === undefined) throw new MusterError('not_found', `no ${what} has an ${begin}`)
  if (found.length === 1) return first
  const shown = found.slice(0, shownMax).map((row) => `${textOf(row, 'ID')} (${nameOf(row)})`)
  throw new MusterError(
    'invalid_argument',
    `${found.length} ${what}s have an ${begin}: ${shown.join(', ')}`,
  )
}
