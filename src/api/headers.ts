/**
 * Header names under the program's own prefix and under those of Consul, Nomad and Vault, so that their clients work unchanged: tokens are
 * read under all of them, reply headers are written under those that the configuration lists. Names are built once.
 */
import type { Contact } from '../rpc/dispatch.ts'
import { linesOf } from './head.ts'

export const headerPrefixes = ['X-Service-', 'X-Consul-', 'X-Nomad-', 'X-Vault-'] as const
export type HeaderPrefix = (typeof headerPrefixes)[number]

/** As a configuration names them. */
export const aliasPrefixes = {
  consul: 'X-Consul-',
  nomad: 'X-Nomad-',
  vault: 'X-Vault-',
} as const satisfies Readonly<Record<string, HeaderPrefix>>

const ownPrefix: HeaderPrefix = 'X-Service-'

/** Of an answer whose body has no place for it. */
export const warningHeader = `${ownPrefix}Warning`

const tokenHeaders = headerPrefixes.map((prefix) => `${prefix.toLowerCase()}token`)

/** The same header under each emitted prefix. */
export type ReplyHeaderNames = {
  readonly index: readonly string[]
  readonly nextToken: readonly string[]
  readonly contentHash: readonly string[]
  /** A list leaves out what the caller may not see. Without a token, where they are told at all, under the own name alone. */
  readonly filtered: { readonly withToken: readonly string[]; readonly without: readonly string[] }
  /** How near the answer is to its leader. */
  readonly contactLines: (contact: Contact) => string
  readonly all: readonly string[]
}

export type ReplyNames = {
  /** Below `/v1/auth` and `/v1/sys`, where Vault's clients ask and no others: each further name costs a look-up a fortieth of its time. */
  readonly secrets: ReplyHeaderNames
  readonly others: ReplyHeaderNames
}

/** `aliases` are emitted besides the own prefix. */
export function replyNames(aliases: readonly HeaderPrefix[]): ReplyNames {
  return {
    secrets: namesUnder(aliases.filter((alias) => alias === aliasPrefixes.vault)),
    others: namesUnder(aliases),
  }
}

function namesUnder(aliases: readonly HeaderPrefix[]): ReplyHeaderNames {
  const prefixes = [...new Set([ownPrefix, ...aliases])]
  const under = (name: string) => prefixes.map((prefix) => `${prefix}${name}`)
  const [index, nextToken] = [under('Index'), under('NextToken')]
  const [knownLeader, lastContact] = [under('KnownLeader'), under('LastContact')]
  const contentHash = under('ContentHash')
  const filtered = under('Results-Filtered-By-ACLs')
  return {
    index,
    nextToken,
    contentHash,
    filtered: { withToken: filtered, without: filtered.slice(0, 1) },
    contactLines: contactLines(knownLeader, lastContact),
    all: [...index, ...knownLeader, ...lastContact, ...nextToken, ...contentHash, ...filtered],
  }
}

/** At a leader they are the same for every read: the last ones are kept. */
function contactLines(
  knownLeaderNames: readonly string[],
  lastContactNames: readonly string[],
): (contact: Contact) => string {
  let last: Contact | null = null
  let text = ''
  return ({ knownLeader, lastContactMs }) => {
    if (last?.knownLeader === knownLeader && last.lastContactMs === lastContactMs) return text
    last = { knownLeader, lastContactMs }
    text = linesOf(knownLeaderNames, knownLeader) + linesOf(lastContactNames, lastContactMs)
    return text
  }
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The first token that is not empty: the own header, an alias, then `Authorization: Bearer`. */
export function tokenOf(headers: RequestHeaders): string | null {
  for (const name of tokenHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  const authorization = headers['authorization']
  if (typeof authorization !== 'string') return null
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null
}

/** Whether a header in which a token may come holds `text`. */
export function bringsToken(headers: RequestHeaders, text: string): boolean {
  const { authorization } = headers
  if (typeof authorization === 'string' && authorization.includes(text)) return true
  return tokenHeaders.some((name) => headers[name] === text)
}

/**
 * Whether the client takes gzip: named (or `*`) with a quality above 0. An `Accept-Encoding` that prefers identity
 * explicitly is obeyed.
 */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined || header === '') return false
  if (header === 'gzip') return true
  let gzip: number | null = null
  let any: number | null = null
  let identity = 0
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const quality = qualityOf(parameters)
    if (name === 'gzip' || name === 'x-gzip') gzip = quality
    else if (name === '*') any = quality
    else if (name === 'identity') identity = quality
  }
  const wanted = gzip ?? any ?? 0
  return wanted > 0 && wanted >= identity
}

function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    if (!parameter.startsWith('q=')) continue
    const text = parameter.slice(2)
    return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
  }
  return 1
}
