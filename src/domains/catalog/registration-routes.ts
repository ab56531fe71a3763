/** Bodies of registrations, read into records. What is wrong in them is 400; what nobody knows is refused. */
import { Fields } from '../../api/fields.ts'
import type { ApiRequest } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import type { Deregistration, Registration } from './commands.ts'
import {
  checkReachable,
  cutOutput,
  type CheckSpec,
  type CheckStatus,
  type NodeSpec,
  type ServiceSpec,
} from './model.ts'
import { checkDatacenter } from './scope-routes.ts'

/** Of each body and record: what clients may send, if only because they read it before. */
export const known = {
  registration: words(`ID Node Address Datacenter TaggedAddresses NodeMeta SkipNodeUpdate Service
    Check Checks Namespace Partition WriteRequest`),
  agentNode: words('ID Node Address Datacenter TaggedAddresses NodeMeta'),
  deregistration: words(
    `Node Address Datacenter ServiceID CheckID Namespace Partition WriteRequest`,
  ),
  node: words(`ID Node Address Datacenter TaggedAddresses Meta Partition CreateIndex ModifyIndex`),
  service: words(`ID Service Name Tags Address TaggedAddresses Meta Port Weights EnableTagOverride
    Kind Namespace Partition CreateIndex ModifyIndex`),
  check: words(`Node CheckID ID Name Status Notes Output ServiceID ServiceName ServiceTags Type
    Definition Namespace Partition ExposedPort Interval Timeout CreateIndex ModifyIndex`),
}

function words(text: string): readonly string[] {
  return text.split(/\s+/)
}

export function registrationOf(request: ApiRequest, datacenter: string): Registration {
  const fields = bodyOf(request)
  refuseUnknown(fields, known.registration, '')
  checkDatacenter(fields.text('Datacenter') ?? '', datacenter)
  checkNamespace(fields)
  const node = { ...nodeOf(fields), datacenter }
  const service = fields.object('Service')
  const check = fields.raw('Check')
  const checks = [...(check === undefined ? [] : [check]), ...(fields.list('Checks') ?? [])]
  return {
    node,
    skipNodeUpdate: fields.boolean('SkipNodeUpdate') ?? false,
    service: service === undefined ? null : givenServiceOf(service),
    checks: checks.map((value) => checkOf(value, node.name)),
  }
}

/** The node of an agent that registers itself; its datacenter is its own. */
export function agentNodeOf(request: ApiRequest): NodeSpec {
  const fields = bodyOf(request)
  refuseUnknown(fields, known.agentNode, '')
  return nodeOf(fields)
}

export function deregistrationOf(request: ApiRequest, datacenter: string): Deregistration {
  const fields = bodyOf(request)
  refuseUnknown(fields, known.deregistration, '')
  checkDatacenter(fields.text('Datacenter') ?? '', datacenter)
  checkNamespace(fields)
  return {
    node: required(fields, 'Node'),
    serviceId: fields.text('ServiceID') || null,
    checkId: fields.text('CheckID') || null,
  }
}

/** Also as the API shows it. */
export function nodeOf(fields: Fields): NodeSpec {
  const skips = fields.boolean('SkipNodeUpdate') ?? false
  const address = fields.text('Address') ?? ''
  if (address === '' && !skips) throw missing('Address')
  return {
    name: required(fields, 'Node'),
    id: fields.text('ID') || null,
    address,
    datacenter: fields.text('Datacenter') ?? '',
    taggedAddresses: fields.textPairs('TaggedAddresses') ?? [],
    meta: fields.textPairs('NodeMeta') ?? fields.textPairs('Meta') ?? [],
  }
}

/** Of a node as lists show it, whose own name is `Node`. */
export function nodeSpecOf(fields: Fields, datacenter: string): NodeSpec {
  checkDatacenter(fields.text('Datacenter') ?? '', datacenter)
  return {
    name: required(fields, 'Node'),
    id: fields.text('ID') || null,
    address: fields.text('Address') ?? '',
    datacenter,
    taggedAddresses: fields.textPairs('TaggedAddresses') ?? [],
    meta: fields.textPairs('Meta') ?? [],
  }
}

/** As a client gives it. Throws `invalid_argument` where nobody could reach it. */
export function givenServiceOf(fields: Fields, nameField = 'Service'): ServiceSpec {
  return checkReachable(serviceOf(fields, nameField))
}

/** Also of an agent's service, whose name is `Name`. */
export function serviceOf(fields: Fields, nameField = 'Service'): ServiceSpec {
  if (nameField === 'Service') refuseUnknown(fields, known.service, 'Service.')
  checkNamespace(fields)
  const kind = fields.text('Kind') ?? ''
  if (kind !== '') {
    throw new MusterError('invalid_argument', `Kind must be empty, not ${JSON.stringify(kind)}`)
  }
  const name = fields.text(nameField) || fields.text('Service') || fields.text('Name') || ''
  if (name === '') throw missing(`the name of the service`)
  const weights = weightsOf(fields)
  return {
    id: fields.text('ID') || name,
    name,
    tags: fields.texts('Tags') ?? [],
    address: fields.text('Address') ?? '',
    port: fields.integer('Port') ?? 0,
    meta: fields.textPairs('Meta') ?? [],
    taggedAddresses: serviceAddresses(fields),
    weights,
    enableTagOverride: fields.boolean('EnableTagOverride') ?? false,
  }
}

/** Clients in Go write two zeros where nothing was said. */
function weightsOf(fields: Fields): ServiceSpec['weights'] {
  const weights = fields.object('Weights')
  const passing = weights?.integer('Passing')
  const warning = weights?.integer('Warning')
  if (passing === 0 && warning === 0) return { passing: 1, warning: 1 }
  return { passing: passing ?? 1, warning: warning ?? 1 }
}

function serviceAddresses(fields: Fields): ServiceSpec['taggedAddresses'] {
  const addresses = fields.object('TaggedAddresses')
  if (addresses === undefined) return []
  return addresses
    .names()
    .toSorted()
    .map((name) => {
      const one = addresses.object(name)
      return [name, one?.text('Address') ?? '', one?.integer('Port') ?? 0] as const
    })
}

export function checkOf(value: unknown, node: string): CheckSpec {
  const fields = new Fields(value, { anyCase: true }, 'Check.')
  refuseUnknown(fields, known.check, 'Check.')
  checkNamespace(fields)
  const name = fields.text('Name') ?? ''
  const id = fields.text('CheckID') || fields.text('ID') || name
  if (id === '') throw missing('Name or CheckID of the check')
  const own = fields.text('Node') || node
  if (own.toLowerCase() !== node.toLowerCase()) {
    throw new MusterError(
      'invalid_argument',
      `Node of check ${JSON.stringify(id)} must be the Node that is registered`,
    )
  }
  return {
    id,
    name: name || id,
    status: statusOf(fields.text('Status') ?? ''),
    notes: fields.text('Notes') ?? '',
    output: cutOutput(fields.text('Output') ?? ''),
    serviceId: fields.text('ServiceID') ?? '',
    type: fields.text('Type') ?? '',
    definition: definitionOf(fields),
  }
}

/** Empty: critical, for nobody has said that it is well. Throws `invalid_argument`. */
export function statusOf(text: string): CheckStatus {
  if (text === '') return 'critical'
  if (text === 'passing' || text === 'warning' || text === 'critical') return text
  throw new MusterError(
    'invalid_argument',
    `Status must be passing, warning or critical, not ${JSON.stringify(text.slice(0, 100))}`,
  )
}

function definitionOf(fields: Fields): string {
  const value = fields.raw('Definition')
  if (value === undefined) return '{}'
  if (!isJsonObject(value)) {
    throw new MusterError('invalid_argument', 'Check.Definition must be an object')
  }
  return JSON.stringify(value)
}

function bodyOf(request: ApiRequest): Fields {
  return new Fields(request.json, { anyCase: true })
}

/** Throws `invalid_argument` for a namespace that services and checks cannot be in. */
export function checkNamespace(fields: Fields): void {
  const namespace = fields.text('Namespace') ?? ''
  if (namespace !== '' && namespace !== 'default') {
    throw new MusterError('invalid_argument', 'Namespace of services and checks is default')
  }
}

export function refuseUnknown(fields: Fields, names: readonly string[], path: string): void {
  const lower = names.map((name) => name.toLowerCase())
  const unknown = fields.names().find((name) => !lower.includes(name.toLowerCase()))
  if (unknown === undefined) return
  throw new MusterError(
    'invalid_argument',
    `there is no field ${JSON.stringify((path + unknown).slice(0, 100))}: known are ${names.join(', ')}`,
  )
}

function required(fields: Fields, name: string): string {
  const value = fields.text(name) ?? ''
  if (value === '') throw missing(name)
  return value
}

function missing(what: string): MusterError {
  return new MusterError('invalid_argument', `Missing ${what}`)
}
