/** Bodies of services: fields of Consul's that say how a service is reached and that nothing here would heed are refused where they say something. */
import type { Fields } from '../../api/fields.ts'
import { MusterError } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'

const mesh = 'there is no service mesh here; a proxy is registered as a service of its own'

/** By field: why it must be empty, and what would be right. */
const unserved = [
  ['Proxy', mesh],
  ['SocketPath', 'a service is reached at its Address and Port'],
  ['Locality', 'instances are told apart by Meta, as by { "zone": "a" }'],
  ['Ports', 'a service has one Port; others are given with TaggedAddresses, or in Meta'],
] as const

/** Throws `invalid_argument`. Clients send these fields without anything in them: that is fine. */
export function refuseUnserved(fields: Fields): void {
  refuseMesh(fields.raw('Connect'))
  for (const [name, right] of unserved) {
    if (!isEmpty(fields.raw(name))) throw mustBeEmpty(name, right)
  }
}

function refuseMesh(connect: unknown): void {
  if (!isJsonObject(connect)) {
    if (!isEmpty(connect)) throw mustBeEmpty('Connect', mesh)
    return
  }
  for (const [name, value] of Object.entries(connect)) {
    // In Consul `{}` is a sidecar with nothing but defaults.
    const isSidecar = name.toLowerCase() === 'sidecarservice' && isJsonObject(value)
    if (isSidecar || !isEmpty(value)) {
      throw mustBeEmpty(`Connect.${name.slice(0, 100)}`, mesh)
    }
  }
}

function mustBeEmpty(name: string, right: string): MusterError {
  return new MusterError('invalid_argument', `${name} must be left out: ${right}`)
}

/** Also what has nothing but empty members, as clients in Go write structures. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmpty)
  if (isJsonObject(value)) return Object.values(value).every(isEmpty)
  return !value
}
