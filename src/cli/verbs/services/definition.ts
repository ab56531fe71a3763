/**
 * Services as users write them in files, in Consul's form: `service { name = "web" }`, `services = [...]`, or the members alone;
 * members in lower case with underscores, or as the API has them.
 */
import { MusterError } from '../../../lib/errors.ts'
import { isObject, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { memberOf, type Sources } from '../../source.ts'

/** Members whose own members are names that people chose. */
const chosen: readonly string[] = ['meta', 'header', 'taggedaddresses']

/** For `/v1/agent/service/register`. Throws `invalid_argument` for a file that holds none. */
export async function servicesIn(path: string, sources: Sources): Promise<readonly JsonObject[]> {
  const spec = await sources.specification(path)
  const one = memberOf(spec, 'Service')
  const many = memberOf(spec, 'Services')
  const found = [one, many].flatMap((value) => {
    if (value === undefined || value === null) return []
    return Array.isArray(value) ? (value as readonly Json[]) : [value]
  })
  const services = found.length > 0 ? found : [spec]
  return services.map((value) => {
    const service = isObject(value) ? apiForm(value) : {}
    if (isObject(service) && 'name' in service) return service
    const name = path === '-' ? 'standard input' : path
    throw new MusterError('invalid_argument', `${name} holds no service with a name`)
  })
}

/** The API takes members in any letter case, and without underscores. */
function apiForm(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(apiForm)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = key.replaceAll('_', '').toLowerCase()
      // One block is an object, and where there may be several the API wants a list.
      const several = name === 'check' && Array.isArray(member)
      return [several ? 'checks' : name, chosen.includes(name) ? member : apiForm(member)]
    }),
  )
}
