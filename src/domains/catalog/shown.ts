/** Records as the API shows them, and what a filter may ask of each. */
import { jsonObjectOf } from '../../lib/json-object.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { CheckRow, NodeRow, ServiceRow } from './model.ts'

export function shownNode(row: NodeRow) {
  return {
    ID: row.id ?? '',
    Node: row.name,
    Address: row.address,
    Datacenter: row.datacenter,
    TaggedAddresses: Object.fromEntries(row.taggedAddresses),
    Meta: Object.fromEntries(row.meta),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

export function shownService(row: Omit<ServiceRow, 'node'>) {
  return {
    ID: row.id,
    Service: row.name,
    Tags: row.tags,
    Address: row.address,
    TaggedAddresses: shownAddresses(row),
    Meta: Object.fromEntries(row.meta),
    Port: row.port,
    Weights: { Passing: row.weights.passing, Warning: row.weights.warning },
    EnableTagOverride: row.enableTagOverride,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

/** A service with the node it is on, flat. */
export function shownServiceOfNode(row: ServiceRow, node: NodeRow) {
  return {
    ID: node.id ?? '',
    Node: node.name,
    Address: node.address,
    Datacenter: node.datacenter,
    TaggedAddresses: Object.fromEntries(node.taggedAddresses),
    NodeMeta: Object.fromEntries(node.meta),
    ServiceKind: '',
    ServiceID: row.id,
    ServiceName: row.name,
    ServiceTags: row.tags,
    ServiceAddress: row.address,
    ServiceTaggedAddresses: shownAddresses(row),
    ServiceWeights: { Passing: row.weights.passing, Warning: row.weights.warning },
    ServiceMeta: Object.fromEntries(row.meta),
    ServicePort: row.port,
    ServiceEnableTagOverride: row.enableTagOverride,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

export function shownCheck(row: CheckRow) {
  return {
    Node: row.node,
    CheckID: row.id,
    Name: row.name,
    Status: row.status,
    Notes: row.notes,
    Output: row.output,
    ServiceID: row.serviceId,
    ServiceName: row.serviceName,
    ServiceTags: row.serviceTags,
    Type: row.type,
    Definition: jsonObjectOf(row.definition),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

function shownAddresses({ taggedAddresses }: Pick<ServiceRow, 'taggedAddresses'>) {
  return Object.fromEntries(
    taggedAddresses.map(([name, address, port]) => [name, { Address: address, Port: port }]),
  )
}

const weights = { record: { Passing: 'integer', Warning: 'integer' } } as const
const texts = { map: 'string' } as const
const addresses = { map: { record: { Address: 'string', Port: 'integer' } } } as const
const tags = { list: 'string' } as const
const indexes = { CreateIndex: 'unsigned', ModifyIndex: 'unsigned' } as const

const nodeFields = {
  ID: 'string',
  Node: 'string',
  Address: 'string',
  Datacenter: 'string',
  TaggedAddresses: texts,
  Meta: texts,
  ...indexes,
} as const

const serviceFields = {
  ID: 'string',
  Service: 'string',
  Tags: tags,
  Address: 'string',
  TaggedAddresses: addresses,
  Meta: texts,
  Port: 'integer',
  Weights: weights,
  EnableTagOverride: 'boolean',
  ...indexes,
} as const

const serviceOfNodeFields = {
  ID: 'string',
  Node: 'string',
  Address: 'string',
  Datacenter: 'string',
  TaggedAddresses: texts,
  NodeMeta: texts,
  ServiceKind: 'string',
  ServiceID: 'string',
  ServiceName: 'string',
  ServiceTags: tags,
  ServiceAddress: 'string',
  ServiceTaggedAddresses: addresses,
  ServiceWeights: weights,
  ServiceMeta: texts,
  ServicePort: 'integer',
  ServiceEnableTagOverride: 'boolean',
  ...indexes,
} as const

const checkFields = {
  Node: 'string',
  CheckID: 'string',
  Name: 'string',
  Status: 'string',
  Notes: 'string',
  Output: 'string',
  ServiceID: 'string',
  ServiceName: 'string',
  ServiceTags: tags,
  Type: 'string',
  ...indexes,
} as const

const healthFields = {
  Node: { record: nodeFields },
  Service: { record: serviceFields },
  Checks: { list: { record: checkFields } },
} as const

/** Of lists, by what their entries are. */
export const filters = {
  nodes: new FilterCompiler(nodeFields),
  services: new FilterCompiler(serviceFields),
  servicesOfNodes: new FilterCompiler(serviceOfNodeFields),
  checks: new FilterCompiler(checkFields),
  health: new FilterCompiler(healthFields),
}
