/**
 * Kinds of values that keys of a configuration file have. A key is declared once, in the schema of its block: what it may be, what
 * it is where no file says so, and what it means. The checker, the values and the tables of the docs follow from that.
 */
import { isIPv4, isIPv6 } from 'node:net'
import Type from 'typebox'
import { present } from '../lib/assert.ts'
import { parseDurationMs } from '../lib/duration.ts'

export const closed = { additionalProperties: false } as const

/** Of a block: what stands for it where no file has it, and what of it is not given. */
export const emptyBlock = { ...closed, default: {} } as const

/** What the docs say of a key, and what it is where no file says so. */
export type Said = {
  readonly about?: string
  /** As a file would have it. Absent: the key has no value then. */
  readonly default?: string | number | boolean
  /** In the docs in place of the default. */
  readonly shown?: string
}

const NAME_LENGTH_MAX = 63
const HOST_LENGTH_MAX = 253

export const namePattern = '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$'

export function name(what: string, said: Said = {}) {
  return Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    pattern: namePattern,
    description: `${what}: 1 to ${NAME_LENGTH_MAX} letters, digits, dots, dashes or underscores, with a letter or digit at both ends`,
    ...said,
  })
}

export function path(what: string, said: Said = {}) {
  return Type.String({ minLength: 1, pattern: '^[^\\u0000]+$', description: what, ...said })
}

export function text(what: string, said: Said = {}) {
  return Type.String({ description: what, ...said })
}

export function host(what: string, said: Said = {}) {
  const description = `${what}: an IP address or a host name`
  return Type.Refine(Type.String({ description, ...said }), isHost)
}

export function port(said: Said) {
  const description = 'a port number from 1 to 65535, or 0 for any free one'
  return Type.Integer({ minimum: 0, maximum: 65_535, description, ...said })
}

export function choice<Choice extends string>(choices: readonly Choice[], said: Said = {}) {
  return Type.Enum([...choices], { description: `one of ${choices.join(', ')}`, ...said })
}

/** In the file text such as `1.5s`, read as milliseconds. `words`: the bounds. */
export function duration(fromMs: number, toMs: number, words: string, said: Said = {}) {
  return Type.Codec(durationText(fromMs, toMs, words, said))
    .Decode((text) => present(parseDurationMs(text), 'a duration that was checked'))
    .Encode((ms) => `${ms}ms`)
}

/** As `duration`, read as text; `otherwise` is allowed too. */
export function durationText(
  fromMs: number,
  toMs: number,
  words: string,
  said: Said = {},
  otherwise?: string,
) {
  const description = `a duration such as "300ms" or "1.5s", from ${words}`
  return Type.Refine(Type.String({ description, ...said }), (text) => {
    if (text === otherwise) return true
    const ms = parseDurationMs(text)
    return ms !== undefined && ms >= fromMs && ms <= toMs
  })
}

const sizeWords = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 } as const

/** Bytes of `4194304` or of text such as `4MiB`; undefined when it is neither. */
export function parseSize(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  const match = /^(\d{1,15})(?:(Ki|Mi|Gi)?B)?$/.exec(value)
  if (match === null) return undefined
  const unit = match[2]
  const factor = unit === 'Ki' || unit === 'Mi' || unit === 'Gi' ? sizeWords[unit] : 1
  const bytes = Number(match[1]) * factor
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Read as bytes. `words`: the bounds. */
export function size(from: number, to: number, words: string, said: Said = {}) {
  const description = `a size in bytes or text such as "4MiB", from ${words}`
  const given = Type.Refine(
    Type.Union([Type.String(), Type.Integer()], { description, ...said }),
    (value) => isSizeWithin(value, from, to),
  )
  return Type.Codec(given)
    .Decode((value) => present(parseSize(value), 'a size that was checked'))
    .Encode((bytes) => bytes)
}

/** As `size`; `otherwise` is allowed too, and stays what it is. */
export function sizeOr<Otherwise extends string>(
  otherwise: Otherwise,
  from: number,
  to: number,
  words: string,
  said: Said = {},
) {
  const description = `"${otherwise}", or a size in bytes or text such as "512MiB", from ${words}`
  const given = Type.Refine(
    Type.Union([Type.String(), Type.Integer()], { description, ...said }),
    (value) => value === otherwise || isSizeWithin(value, from, to),
  )
  return Type.Codec(given)
    .Decode((value) => parseSize(value) ?? otherwise)
    .Encode((value) => value)
}

function isSizeWithin(value: string | number, from: number, to: number): boolean {
  const bytes = parseSize(value)
  return bytes !== undefined && bytes >= from && bytes <= to
}

export function count(from: number, to: number, said: Said = {}) {
  const description = `a whole number from ${from} to ${to}`
  return Type.Integer({ minimum: from, maximum: to, description, ...said })
}

export function flag(said: Said = {}) {
  return Type.Boolean({ description: 'true or false', ...said })
}

/** An IPv4 or IPv6 address without brackets, or a host name by RFC 1123. */
export function isHost(text: string): boolean {
  if (text.length === 0 || text.length > HOST_LENGTH_MAX) return false
  if (text.includes(':')) return isIPv6(text)
  if (/^[\d.]+$/.test(text)) return isIPv4(text)
  return text
    .split('.')
    .every((label) => /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/.test(label))
}

/** `host:port` or `host`; an IPv6 host with a port stands in brackets. Undefined when it is neither. */
export function parseAddress(
  text: string,
): { readonly host: string; readonly port: number | null } | undefined {
  if (isIPv6(text)) return { host: text, port: null }
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text)
  if (match === null) return undefined
  const [, bracketed, plain, portText] = match
  const address = bracketed ?? plain ?? ''
  if (bracketed !== undefined ? !isIPv6(bracketed) : !isHost(address)) return undefined
  const number = portText === undefined ? null : Number(portText)
  return number !== null && number > 65_535 ? undefined : { host: address, port: number }
}

export type StaticPeer = {
  readonly name: string
  /** Without brackets, also for IPv6. */
  readonly host: string
  readonly port: number
}

/** `name=host:rpcport`; an IPv6 host stands in brackets. Undefined when it is not of this form. */
export function parsePeer(text: string): StaticPeer | undefined {
  const match = /^([^=]+)=(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  if (match === null) return undefined
  const [, peerName = '', bracketed, plain, portText = ''] = match
  const peerHost = bracketed ?? plain ?? ''
  const peerPort = Number(portText)
  if (peerName.length > NAME_LENGTH_MAX || !new RegExp(namePattern).test(peerName)) return undefined
  if (!isHost(peerHost) || peerPort < 1 || peerPort > 65_535) return undefined
  if (bracketed !== undefined && !isIPv6(bracketed)) return undefined
  return { name: peerName, host: peerHost, port: peerPort }
}
