/** Requests to one route: its path, query, headers and body, each good or hostile, as they go over a socket. */
import fc from '../../support/fast-check.ts'
import type { Route } from '../../../src/api/route.ts'
import { hostileText, spelling } from './hostile-text.ts'
import { mutated, treeOf, write, type Json } from './json.ts'

export type HostileRequest = {
  readonly method: string
  /** Latin-1: every character is a byte of the request line. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

/** What the product knows, as it stands: for requests that come to something. */
export type Known = {
  /** Values: ids, names, paths. */
  readonly texts: readonly string[]
  readonly parameters: readonly string[]
  readonly members: readonly string[]
  readonly bodies: readonly unknown[]
  /** Tokens to ask with; null: none. */
  readonly tokens: readonly (string | null)[]
}

/** Node refuses heads beyond this, and so do we: 431 is for another test. */
const pathLengthMax = 14_000

export function hostileRequest(route: Route, known: Known): fc.Arbitrary<HostileRequest> {
  const text = hostileText(known.texts)
  return fc.record({
    method: methodOf(route),
    path: fc
      .tuple(pathOf(route, text), queryOf(known.parameters, text))
      .map(([path, query]) => `${path}${query}`.slice(0, pathLengthMax)),
    headers: headersOf(text, known.tokens),
    body: bodyOf(route, known, text),
  })
}

function methodOf({ method }: Route): fc.Arbitrary<string> {
  const others = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']
  return fc.oneof(
    { weight: 20, arbitrary: fc.constant(method) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )
}

function pathOf({ path }: Route, text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const segments = path.split('/').map((segment) => {
    if (!segment.startsWith(':') && segment !== '*') return fc.constant(segment)
    return fc.tuple(text, spelling).map(([value, spell]) => spell(value))
  })
  return fc
    .tuple(fc.tuple(...segments), fc.constantFrom('', '', '', '', '', '/', '//', '/x', ';a', '%2f'))
    .map(([parts, end]) => `${parts.join('/')}${end}`)
}

function queryOf(names: readonly string[], text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('pretty', ...names) },
    { weight: 1, arbitrary: text },
  )
  const pair = fc
    .tuple(name, spelling, fc.option(text, { freq: 5 }), spelling)
    .map(([name, spellName, value, spell]) =>
      value === null ? spellName(name) : `${spellName(name)}=${spell(value)}`,
    )
  return fc
    .array(pair, { maxLength: 4 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&')}`))
}

const headerNames = [
  'x-service-lock',
  'x-service-lock-index',
  'x-consul-token',
  'authorization',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'if-none-match',
  'range',
  'expect',
  'origin',
  'cookie',
  'x-forwarded-for',
  'x-http-method-override',
]

function headersOf(
  text: fc.Arbitrary<string>,
  tokens: readonly (string | null)[],
): fc.Arbitrary<Record<string, string>> {
  const hostile = fc.dictionary(
    fc.constantFrom(...headerNames),
    // A header's bytes are Latin-1 without controls; what is not would never leave the client.
    text.map((value) => value.replaceAll(/[^\t\x20-\x7e\u0080-\u00ff]/g, '?').slice(0, 1_000)),
    { maxKeys: 2 },
  )
  return fc
    .tuple(fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, hostile), fc.constantFrom(...tokens))
    .map(([headers, token]) =>
      token === null ? headers : { ...headers, 'x-service-token': token },
    )
}

function bodyOf(
  route: Route,
  known: Known,
  text: fc.Arbitrary<string>,
): fc.Arbitrary<Buffer | null> {
  const { body = route.method === 'GET' ? 'none' : 'json' } = route
  const good: readonly Json[] = known.bodies.map(treeOf)
  const names = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom('Name', '__proto__', 'constructor', ...known.members),
    },
    { weight: 1, arbitrary: text },
  )
  const document = mutated(good, names, text).map((json) => Buffer.from(write(json)))
  const noise = fc.oneof(
    document.map((bytes) => bytes.subarray(0, bytes.length - 1)),
    document.map((bytes) => Buffer.concat([Buffer.from('\ufeff'), bytes])),
    document.map((bytes) => Buffer.from(bytes.toString(), 'utf16le')),
    document.map((bytes) => Buffer.concat([bytes, Buffer.from([0xff])])),
    fc.json().map((json) => Buffer.from(json)),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('[', '{"a":', '"').map((open) => Buffer.from(open.repeat(20_000))),
    fc.constantFrom(524_288, 524_289, 1_048_577).map((size) => Buffer.alloc(size, 0x20)),
  )
  return fc.oneof(
    { weight: body === 'none' ? 30 : 1, arbitrary: fc.constant(null) },
    { weight: 12, arbitrary: document },
    { weight: 2, arbitrary: noise },
  )
}

/** For people: what to send again. */
export function shown({ method, path, headers, body }: HostileRequest): string {
  const text = body === null ? '' : body.toString('latin1')
  const cut = text.length > 600 ? `${text.slice(0, 600)}... (${text.length})` : text
  return `${method} ${path.slice(0, 600)} ${JSON.stringify(headers)} ${JSON.stringify(cut)}`
}
