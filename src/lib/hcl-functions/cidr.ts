/** Functions on networks, as `10.0.0.0/8` and `fd00::/8`. Addresses are whole numbers of 32 or 128 bits. */
import { isIPv4, isIPv6 } from 'node:net'
import type { HclCall, HclFunctions } from './call.ts'

const anyWhole = { min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }

export const cidrFunctions: HclFunctions = {
  cidrhost: {
    parameters: 'network, number',
    run: (call) => {
      const { address, length, bits } = networkAt(call)
      const size = 1n << BigInt(bits - length)
      const number = BigInt(call.whole(1, anyWhole))
      const host = number < 0n ? size + number : number
      if (host < 0n || host >= size) call.fail(`the network has ${size} addresses`, 1)
      return textOf(address + host, bits)
    },
  },
  cidrnetmask: {
    parameters: 'network',
    run: (call) => {
      const { length, bits } = networkAt(call)
      if (bits !== 32) call.fail('only networks of IPv4 have a mask', 0)
      return textOf(hostsOf(0, bits) ^ hostsOf(length, bits), bits)
    },
  },
  cidrsubnet: {
    parameters: 'network, bits, number',
    run: (call) => {
      const { address, length, bits } = networkAt(call)
      const more = call.whole(1, { min: 0, max: bits - length })
      const number = BigInt(call.whole(2, { min: 0, max: Number.MAX_SAFE_INTEGER }))
      if (number >= 1n << BigInt(more)) call.fail(`${more} bits have no number ${number}`, 2)
      const begin = address + (number << BigInt(bits - length - more))
      return `${textOf(begin, bits)}/${length + more}`
    },
  },
  cidrsubnets: {
    parameters: 'network, bits…',
    run: (call) => {
      const { address, length, bits } = networkAt(call)
      const end = address + hostsOf(length, bits)
      let next = address
      const subnets = Array.from({ length: call.count - 1 }, (_, index) => {
        const more = call.whole(index + 1, { min: 0, max: bits - length })
        const hosts = hostsOf(length + more, bits)
        // A network begins at a multiple of its size.
        const begin = (next + hosts) & ~hosts
        if (begin + hosts > end) call.fail('the network has no room for this one', index + 1)
        next = begin + hosts + 1n
        return call.newText(`${textOf(begin, bits)}/${length + more}`)
      })
      return call.newList(subnets)
    },
  },
}

type Network = { readonly address: bigint; readonly length: number; readonly bits: 32 | 128 }

/** The first argument. What is behind the prefix is zero. */
function networkAt(call: HclCall): Network {
  const [written = '', prefix = ''] = call.text(0).split('/')
  const bits = isIPv4(written) ? 32 : isIPv6(written) && !written.includes('%') ? 128 : null
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  if (bits === null || !(length <= bits) || call.text(0) !== `${written}/${prefix}`) {
    return call.fail('a network is written as 10.0.0.0/8 or fd00::/8', 0)
  }
  return { address: addressOf(written, bits) & ~hostsOf(length, bits), length, bits }
}

/** All bits behind the prefix. */
function hostsOf(length: number, bits: number): bigint {
  return (1n << BigInt(bits - length)) - 1n
}

function addressOf(text: string, bits: 32 | 128): bigint {
  if (bits === 32) return numberOf(text.split('.').map(Number), 8n)
  const [, front = '', a = '', b = '', c = '', d = ''] =
    /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? []
  const pair = (high: string, low: string): string =>
    ((Number(high) << 8) | Number(low)).toString(16)
  const written = front === '' ? text : `${front}${pair(a, b)}:${pair(c, d)}`
  const [left = '', right] = written.split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const begin = groups(left)
  const end = groups(right ?? '')
  const zeros = Array.from({ length: 8 - begin.length - end.length }, () => 0)
  return numberOf([...begin, ...zeros, ...end], 16n)
}

function numberOf(parts: readonly number[], width: bigint): bigint {
  return parts.reduce((number, part) => (number << width) | BigInt(part), 0n)
}

/** IPv6 as RFC 5952 has it: the longest run of zeros, two groups at least, is `::`. */
function textOf(address: bigint, bits: 32 | 128): string {
  const width = bits === 32 ? 8n : 16n
  const parts = Array.from({ length: bits / Number(width) }, (_, index) =>
    Number((address >> (BigInt(bits) - width * BigInt(index + 1))) & ((1n << width) - 1n)),
  )
  if (bits === 32) return parts.join('.')
  const text = parts.map((part) => part.toString(16)).join(':')
  const runs = [...text.matchAll(/(?<![^:])0(?::0)+(?![^:])/g)]
  const longest = runs.reduce<RegExpExecArray | undefined>(
    (best, run) => (best !== undefined && best[0].length >= run[0].length ? best : run),
    undefined,
  )
  if (longest === undefined) return text
  const before = text.slice(0, Math.max(longest.index - 1, 0))
  return `${before}::${text.slice(longest.index + longest[0].length + 1)}`
}
