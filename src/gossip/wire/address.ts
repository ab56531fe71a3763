/** Addresses: 4 bytes or 16 here, text where sockets and people want them. */
import { isIPv4, isIPv6 } from 'node:net'
import type { Endpoint } from '../core/message.ts'
import { copyOf } from './text.ts'

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] as const

/** A copy of 4 or 16 bytes; an IPv4 address in its 16-byte form becomes 4. Null for any other length. */
export function addressOf(bytes: Uint8Array): Uint8Array | null {
  if (bytes.length === 4) return copyOf(bytes)
  if (bytes.length !== 16) return null
  const mapped = mappedPrefix.every((byte, index) => bytes[index] === byte)
  return copyOf(mapped ? bytes.subarray(12) : bytes)
}

/** Reads `192.0.2.1`, `2001:db8::1`, `::ffff:192.0.2.1`; a zone (`%eth0`) is cut off. Null for anything else. */
export function parseAddress(text: string): Uint8Array | null {
  const [address = ''] = text.split('%', 1)
  if (isIPv4(address)) return Uint8Array.from(address.split('.'), Number)
  return isIPv6(address) ? addressOf(ipv6Bytes(address)) : null
}

/** An IPv6 address whose form is checked already. */
function ipv6Bytes(text: string): Uint8Array {
  const [head = '', tail] = text.split('::')
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  const bytes = new Uint8Array(16)
  bytes.set(front)
  bytes.set(back, 16 - back.length)
  return bytes
}

function groups(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number)
    const value = Number.parseInt(group, 16)
    return [value >>> 8, value & 0xff]
  })
}

/** The dotted form, or groups of which the first of the longest rows of zeros is `::` (RFC 5952, 4.2). */
export function formatAddress(address: Uint8Array): string {
  if (address.length === 4) return address.join('.')
  const pairs: string[] = []
  for (let index = 0; index + 1 < address.length; index += 2) {
    pairs.push((((address[index] ?? 0) << 8) | (address[index + 1] ?? 0)).toString(16))
  }
  const zeros = longestZeros(pairs)
  if (zeros.length < 2) return pairs.join(':')
  const after = pairs.slice(zeros.start + zeros.length)
  return `${pairs.slice(0, zeros.start).join(':')}::${after.join(':')}`
}

function longestZeros(pairs: readonly string[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 }
  let start = 0
  for (let at = 0; at <= pairs.length; at += 1) {
    if (pairs[at] === '0') continue
    if (at - start > longest.length) longest = { start, length: at - start }
    start = at + 1
  }
  return longest
}

/** `192.0.2.1:4648`, `[2001:db8::1]:4648`. */
export function formatEndpoint({ address, port }: Endpoint): string {
  const text = formatAddress(address)
  return address.length === 4 ? `${text}:${port}` : `[${text}]:${port}`
}
