/**
 * What methods, routes and duties use besides the state: a keyring, a pool, a buffer. Each is found by a typed key that
 * the domain which needs it exports, so a method is a module constant, and a test provides a fake under the same key.
 */
import { assert, AssertionError } from '../lib/assert.ts'

/** Made by `serviceKey`. Holds the values itself, by the set of services they were provided to, so no type is lost. */
export class ServiceKey<Value> {
  readonly name: string
  readonly #values = new WeakMap<Services, { readonly value: Value }>()

  constructor(name: string) {
    this.name = name
  }

  /** Use `Services.provide`. */
  set(services: Services, value: Value): void {
    assert(!this.#values.has(services), `the service ${this.name} is provided twice`)
    this.#values.set(services, { value })
  }

  /** Undefined: nothing was provided. */
  find(services: Services): { readonly value: Value } | undefined {
    return this.#values.get(services)
  }
}

/** What is found by a key. */
export type Provided<Key> = Key extends ServiceKey<infer Value> ? Value : never

/** One process's services, provided once before the first request. */
export class Services {
  provide<Value>(key: ServiceKey<Value>, value: Value): void {
    key.set(this, value)
  }

  /** Fails an assertion for a service that nothing provided. */
  readonly get = <Value>(key: ServiceKey<Value>): Value => {
    const provided = key.find(this)
    if (provided !== undefined) return provided.value
    throw new AssertionError(`nothing provides the service ${key.name}`)
  }
}

/** `name` is for messages: `variables.keyring`. */
export function serviceKey<Value>(name: string): ServiceKey<Value> {
  return new ServiceKey<Value>(name)
}
