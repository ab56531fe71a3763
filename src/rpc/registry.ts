/** The methods of a process by name, for calls that come over the wire. Built once from the domains' lists. */
import { assert } from '../lib/assert.ts'
import { MusterError } from '../lib/errors.ts'
import type { Method } from './method.ts'

export type Registry = ReadonlyMap<string, Method>

export function buildRegistry(methods: readonly Method[]): Registry {
  const registry = new Map<string, Method>()
  for (const method of methods) {
    assert(!registry.has(method.name), `two methods are called ${method.name}`)
    registry.set(method.name, method)
  }
  return registry
}

/** Throws `not_implemented` for a name nobody gave: another program than this one knows it. */
export function findMethod(registry: Registry, name: string): Method {
  const found = registry.get(name)
  if (found !== undefined) return found
  const shown = JSON.stringify(name.slice(0, 100))
  throw new MusterError(
    'not_implemented',
    `the program that was asked does not know ${shown}: it may be older than this one`,
  )
}
