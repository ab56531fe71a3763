/**
 * Places for what lasts: blocking queries that wait, event streams, and readers of the log. They are shared, so that no caller keeps all others
 * out: one token (callers without one together) and one address hold at most half of them each, and the last sixteenth
 * is for operators, who have no share to keep to. Without access control every caller is an operator.
 */
import { clientOf } from '../lib/client-address.ts'
import { MusterError } from '../lib/errors.ts'
import type { Permissions } from './authorizer.ts'
import type { Caller } from './method.ts'

export type PlacesOptions = {
  readonly max: number
  /** The setting that `max` is from, for refusals. */
  readonly limit: string
}

export type PlaceTaker = {
  /** Of the token; null: there is none. */
  readonly accessor: string | null
  /** The client's address, or its network. */
  readonly address: string
  readonly operator: boolean
}

/** One holder's share of all places, and the reserve, as divisors. */
const shareDivisor = 2
const reserveDivisor = 16

export class Places {
  readonly #max: number
  readonly #limit: string
  readonly #shareMax: number
  readonly #openMax: number
  #taken = 0
  #refused = 0
  /** Only holders of at least one place are here. */
  readonly #byAccessor = new Map<string | null, number>()
  readonly #byAddress = new Map<string, number>()

  constructor({ max, limit }: PlacesOptions) {
    this.#max = max
    this.#limit = limit
    this.#shareMax = Math.ceil(max / shareDivisor)
    this.#openMax = max - Math.floor(max / reserveDivisor)
  }

  get taken(): number {
    return this.#taken
  }

  /** Callers that were refused a place. */
  get refusedCount(): number {
    return this.#refused
  }

  /**
   * Returns the way to give the place back, harmless twice. Throws `overloaded` when there is none, and `rate_limited`
   * when this caller has its share.
   */
  take({ accessor, address, operator }: PlaceTaker): () => void {
    if (!operator) {
      const has = Math.max(this.#byAccessor.get(accessor) ?? 0, this.#byAddress.get(address) ?? 0)
      if (has >= this.#shareMax) throw this.#refusal('rate_limited')
    }
    if (this.#taken >= (operator ? this.#max : this.#openMax)) throw this.#refusal('overloaded')
    this.#taken += 1
    if (!operator) {
      add(this.#byAccessor, accessor, 1)
      add(this.#byAddress, address, 1)
    }
    let over = false
    return () => {
      if (over) return
      over = true
      this.#taken -= 1
      if (operator) return
      add(this.#byAccessor, accessor, -1)
      add(this.#byAddress, address, -1)
    }
  }

  #refusal(code: 'rate_limited' | 'overloaded'): MusterError {
    this.#refused += 1
    const all = `${this.#limit} is ${this.#max}`
    const text =
      code === 'overloaded'
        ? `all places are taken (${all}), or kept for operators; try another server or later`
        : `one token or one address may hold ${this.#shareMax} places: ${all}`
    return new MusterError(code, text)
  }
}

export function placeTaker(
  { remote }: Caller,
  permissions: { readonly accessor?: string | null; readonly may: Permissions['may'] },
): PlaceTaker {
  return {
    accessor: permissions.accessor ?? null,
    address: clientOf(remote),
    operator: permissions.may({ resource: 'operator', access: 'write' }),
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
