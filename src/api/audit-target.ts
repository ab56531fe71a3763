/**
 * Path, query and error text of a request without the secrets in them. What is shown of a query is a list, not what is
 * hidden: the next parameter that is invented, and every misspelt one, is hidden until it stands here.
 */
import { looksLikeAddress } from '../lib/host-port.ts'
import { isUuid, uuidInAnyCase } from '../lib/uuid.ts'

export const hidden = '<redacted>'

/** A path or query that is longer is cut. */
export const targetLengthMax = 2_048
export const errorLengthMax = 512
const valueLengthMax = 128

/** Shorter than any secret; what is this short may stand anywhere by chance. */
const secretLengthMin = 8
/** A part of an unknown path that is longer may be a secret in the wrong place. */
const unknownPartLengthMax = 24

/** In parts of a path and values of parameters that have one form: whatever has another is in the wrong place. */
const number = /^\d{1,20}$/
const duration = /^[\dhmnsu.]{1,20}$/
const word = /^[a-z0-9_]{0,12}$/i
const anything = /^/

/** Parameters whose values say what was done and to what. A filter, a note, free text and a token are not among them. */
const shownParameters = new Map<string, RegExp>(
  (
    [
      [number, 'cas flags index lock_index per_page seconds'],
      [duration, 'max_stale wait'],
      [uuidInAnyCase, 'acquire release'],
      [
        word,
        'capabilities consistent debug detailed enable force format full keys log_json log_level',
      ],
      [word, 'logjson loglevel passing plain pretty prune raw recurse replace-existing-checks'],
      [word, 'stale type'],
      [anything, 'datacenter dc id lock namespace near node node_id ns policy prefix region role'],
      [anything, 'separator segment seperator server_id tag topic'],
    ] as const
  ).flatMap(([form, names]) => names.split(' ').map((name) => [name, form] as const)),
)

/** Parameters of paths that have one form, UUIDs or addresses. Whatever else stands there may be a secret, that of the UUID for one. */
const parameterForms: ReadonlyMap<string, (text: string) => boolean> = new Map([
  [':accessor', isUuid],
  [':uuid', isUuid],
  [':address', (text) => looksLikeAddress(decoded(text))],
])

/** Below it each mount has the paths of its type. */
const pathsOfMounts = '/v1/auth/*'

/** The pattern of the route that served a request; null: none did, so its path is no one's. */
export function servedBy(ended: {
  readonly route: string | null
  readonly status: number
}): string | null {
  return ended.route === pathsOfMounts && ended.status === 404 ? null : ended.route
}

/** `route`: the pattern; null: no route serves the path. `token`: what the request brought, which is shown nowhere. */
export function shownTarget(url: string, route: string | null, token: string | null): string {
  const cut = url.indexOf('?')
  const path = cut < 0 ? url : url.slice(0, cut)
  const shown = without(shownPath(path, route), token)
  const text = cut < 0 ? shown : `${shown}?${without(shownQuery(url.slice(cut + 1)), token)}`
  return bounded(text, targetLengthMax)
}

/** Quoted parts repeat what was sent. */
export function shownError(text: string, token: string | null): string {
  const unquoted = text.replaceAll(/"(?:[^"\\]|\\.)*(?:"|$)/g, '"…"')
  return bounded(without(unquoted, token), errorLengthMax)
}

function shownPath(path: string, route: string | null): string {
  if (route === null) {
    return path
      .split('/')
      .map((part) => (part.length > unknownPartLengthMax ? hidden : part))
      .join('/')
  }
  if (!route.includes('/:')) return path
  const names = route.split('/')
  return path
    .split('/')
    .map((part, at) => (parameterForms.get(names[at] ?? '')?.(part) === false ? hidden : part))
    .join('/')
}

function shownQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const cut = pair.indexOf('=')
      const name = cut < 0 ? pair : pair.slice(0, cut)
      if (name === 'token') return `token=${hidden}`
      const form = shownParameters.get(name)
      if (form === undefined) return name === '' && cut < 0 ? '' : hidden
      if (cut < 0) return name
      const value = pair.slice(cut + 1)
      return `${name}=${value === '' || form.test(value) ? bounded(value, valueLengthMax) : hidden}`
    })
    .join('&')
}

/** Also where it is percent-encoded: then the whole text goes, for nobody can tell which part of it was the secret. */
function without(text: string, token: string | null): string {
  if (token === null || token.length < secretLengthMin) return text
  const left = text.includes(token) ? text.replaceAll(token, hidden) : text
  return left.includes('%') && decoded(left).includes(token) ? hidden : left
}

function decoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )
}

function bounded(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}
