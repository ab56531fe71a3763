/** The methods of a process by name, for calls that come over the wire. Built once from the domains' lists. */
import { assert } from '../lib/assert.ts'
import { Validator } from '../fsm/validator.ts'
import { MusterError } from '../lib/errors.ts'
import type { Method } from './method.ts'

export type RegisteredMethod = {
  readonly method: Method
  /** Throws `invalid_argument`; the text names the field and never shows its value. */
  readonly check: (args: unknown) => void
}

export type Registry = ReadonlyMap<string, RegisteredMethod>

/** A field's path is cut here in texts, as member names come from the caller. */
const pathLengthMax = 200

export function buildRegistry(methods: readonly Method[]): Registry {
  const registry = new Map<string, RegisteredMethod>()
  for (const method of methods) {
    assert(!registry.has(method.name), `two methods are called ${method.name}`)
    registry.set(method.name, { method, check: compileCheck(method) })
  }
  return registry
}

/** Throws `not_found` for a name nobody gave. */
export function findMethod(registry: Registry, name: string): RegisteredMethod {
  const found = registry.get(name)
  if (found === undefined) {
    throw new MusterError('not_found', `there is no method ${JSON.stringify(name.slice(0, 100))}`)
  }
  return found
}

function compileCheck(method: Method): (args: unknown) => void {
  const validator = new Validator(method.args)
  return (args) => {
    if (validator.accepts(args)) return
    const fault = validator.faultOf(args)
    const path = (fault?.path ?? '').slice(1).replaceAll('/', '.').slice(0, pathLengthMax)
    const rule = fault?.text ?? 'has the wrong shape'
    throw new MusterError(
      'invalid_argument',
      `${method.name}: ${path === '' ? 'the arguments' : path} ${rule}`,
    )
  }
}
