/** Runs the npm package `consul`, and finds a verdict for each of its calls. */
import Consul from 'consul'
import type { HeldValues, NpmRow } from './npm-consul-rows.ts'
import { cut, fieldOf, reasonOf, type Outcome } from './replay.ts'

export class NpmConsul {
  readonly #consul: Consul
  /** Its errors have the whole answer; the package shows its users a long sentence as the status's name. */
  readonly #telling: Consul
  readonly #held: HeldValues

  constructor(port: number, token: string, held: HeldValues) {
    const client = (defaults: object) =>
      new Consul({ host: '127.0.0.1', port, defaults: { token, ...defaults } })
    this.#consul = client({})
    this.#telling = client({ includeResponse: true })
    this.#held = held
  }

  async outcomeOf({ call, expects, note = '' }: NpmRow): Promise<Outcome> {
    try {
      const value = await call(this.#consul, this.#held)
      if (expects(value)) return { verdict: 'works', note }
      return { verdict: 'differs', note: cut(`unexpected: ${JSON.stringify(value)}`) }
    } catch (error) {
      if (fieldOf(error, 'statusCode') !== 501) {
        return { verdict: 'differs', note: cut(String(error)) }
      }
    }
    const told: unknown = await call(this.#telling, this.#held).catch((error: unknown) => error)
    return { verdict: 'out of scope', note: cut(reasonOf(String(fieldOf(told, 'response.body')))) }
  }

  /** Names of all calls that the package has, from the client on. */
  names(): readonly string[] {
    return [...namesOf(this.#consul, '', 0), 'watch'].toSorted()
  }
}

const depthMax = 2

function namesOf(object: object, prefix: string, depth: number): readonly string[] {
  const below = Object.entries(object).flatMap(([name, value]: readonly [string, unknown]) => {
    const isPart = /^[a-z]/.test(name) && name !== 'consul'
    if (!isPart || typeof value !== 'object' || value === null || depth === depthMax) return []
    return namesOf(value, `${prefix}${name}.`, depth + 1)
  })
  if (depth === 0) return below
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(object))
  const calls = own.filter((name) => name !== 'constructor' && !name.startsWith('_'))
  return [...calls.map((name) => `${prefix}${name}`), ...below]
}
