/** Kinds of values that keys of a configuration file have, and how some of them are read. */
import { isIPv4, isIPv6 } from 'node:net'
import Type from 'typebox'
import { parseDurationMs } from '../lib/duration.ts'

export const closed = { additionalProperties: false } as const

const NAME_LENGTH_MAX = 63
const HOST_LENGTH_MAX = 253

export const namePattern = '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$'

export function name(what: string) {
  return Type.String({
    minLength: 1,
    maxLength: NAME_LENGTH_MAX,
    pattern: namePattern,
    description: `${what}: 1 to ${NAME_LENGTH_MAX} letters, digits, dots, dashes or underscores, with a letter or digit at both ends`,
  })
}

export function path(what: string) {
  return Type.String({ minLength: 1, pattern: '^[^\\u0000]+$', description: what })
}

export function host(what: string) {
  return Type.Refine(Type.String({ description: `${what}: an IP address or a host name` }), isHost)
}

export const port = Type.Integer({
  minimum: 0,
  maximum: 65_535,
  description: 'a port number from 1 to 65535, or 0 for any free one',
})

export function duration(fromMs: number, toMs: number, words: string, otherwise?: string) {
  return Type.Refine(
    Type.String({ description: `a duration such as "300ms" or "1.5s", from ${words}` }),
    (text) => {
      if (text === otherwise) return true
      const ms = parseDurationMs(text)
      return ms !== undefined && ms >= fromMs && ms <= toMs
    },
  )
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

export function size(from: number, to: number, words: string) {
  return Type.Refine(
    Type.Union([Type.String(), Type.Integer()], {
      description: `a size in bytes or text such as "4MiB", from ${words}`,
    }),
    (value) => {
      const bytes = parseSize(value)
      return bytes !== undefined && bytes >= from && bytes <= to
    },
  )
}

export function count(from: number, to: number) {
  return Type.Integer({
    minimum: from,
    maximum: to,
    description: `a whole number from ${from} to ${to}`,
  })
}

export const boolean = Type.Boolean({ description: 'true or false' })

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
