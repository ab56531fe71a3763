/** Joining: from addresses as text to the outcome of one exchange with each. */
import { isIP } from 'node:net'
import { firstOf, nothing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { addressesPerNameMax, parsePlace, type Place } from './addresses.ts'
import type { Endpoint } from './core/message.ts'
import { sameEndpoint } from './core/members.ts'
import type { JoinResult } from './gossip.ts'
import { formatEndpoint, parseAddress } from './wire/address.ts'

/** Addresses of one call, and exchanges under way for it. */
export const joinAddressesMax = 256
const concurrencyMax = 16
/** For one name; the resolver's own patience may be longer. */
const resolveTimeoutMs = 10_000

export type JoinParts = {
  readonly self: Endpoint
  readonly defaultPort: number
  readonly clock: Clock
  readonly resolve: (name: string) => Promise<readonly string[]>
  /** Ends the waiting for the resolver. */
  readonly signal: AbortSignal
  /** One exchange; null: it worked, otherwise what went wrong. */
  readonly joinThrough: (endpoint: Endpoint) => Promise<JoinFailure | null>
}

/** `answered`: by a member that does not fit. */
export type JoinFailure = { readonly text: string; readonly answered: boolean }

export function unanswered(text: string): JoinFailure {
  return { text, answered: false }
}

type Target = { readonly address: string; readonly endpoint: Endpoint }
type Failure = JoinResult['errors'][number]

/** Tries every address, so that pools that were apart become one. Throws invalid_argument, too_large. */
export async function joinAll(parts: JoinParts, addresses: readonly string[]): Promise<JoinResult> {
  if (addresses.length > joinAddressesMax) {
    throw new MusterError(
      'too_large',
      `${addresses.length} addresses to join; at most ${joinAddressesMax} are tried at once`,
    )
  }
  const places = addresses.map((text) => [text, parsePlace(text, parts.defaultPort)] as const)
  const errors: Failure[] = []
  const targets: Target[] = []
  const resolved = await Promise.all(
    places.map(([address, place]) => resolvePlace(parts, address, place)),
  )
  for (const found of resolved) {
    if ('error' in found) errors.push(found)
    else targets.push(...found.targets.filter((target) => !isKnown(parts, targets, target)))
  }
  let joined = 0
  const waiting = targets.values()
  const work = async (): Promise<void> => {
    for (const { address, endpoint } of waiting) {
      const failure = await parts.joinThrough(endpoint)
      if (failure === null) joined += 1
      else errors.push(failed(address, failure, formatEndpoint(endpoint)))
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, targets.length) }, work))
  return { joined, errors }
}

async function resolvePlace(
  parts: JoinParts,
  address: string,
  { host, port }: Place,
): Promise<{ readonly targets: readonly Target[] } | Failure> {
  try {
    const found = isIP(host) === 0 ? await resolvedInTime(parts, host) : [host]
    const targets = found.slice(0, addressesPerNameMax).flatMap((text) => {
      const bytes = parseAddress(text)
      return bytes === null ? [] : [{ address, endpoint: { address: bytes, port } }]
    })
    return targets.length > 0 ? { targets } : failed(address, unanswered('the name has no address'))
  } catch (error) {
    return failed(address, unanswered(`the name cannot be resolved: ${textOf(error)}`))
  }
}

async function resolvedInTime(parts: JoinParts, name: string): Promise<readonly string[]> {
  const { clock, signal, resolve } = parts
  return await firstOf<readonly string[]>({
    clock,
    ms: resolveTimeoutMs,
    signal,
    listen(found, failed) {
      resolve(name).then(found, failed)
      return nothing
    },
    timeout: () => {
      throw new MusterError('timeout', `no answer within ${resolveTimeoutMs} ms`)
    },
    aborted: () => {
      throw new MusterError('cancelled', 'gossip stops')
    },
  })
}

function isKnown({ self }: JoinParts, targets: readonly Target[], { endpoint }: Target): boolean {
  if (sameEndpoint(self, endpoint)) return true
  return targets.some((target) => sameEndpoint(target.endpoint, endpoint))
}

/** `endpoint`: what a name stood for. */
function failed(address: string, { text, answered }: JoinFailure, endpoint = address): Failure {
  const through = endpoint === address ? address : `${address} (${endpoint})`
  const code = answered ? 'conflict' : 'unavailable'
  return {
    address,
    error: new MusterError(code, `gossip cannot join through ${through}: ${text}`),
  }
}
