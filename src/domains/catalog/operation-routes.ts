/** Operations of a transaction on nodes, services and checks, as JSON: what `kv/txn-routes.ts` needs of the catalog. */
import type { Fields } from '../../api/fields.ts'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { checkCheck, checkName, checkNode, checkService } from './model.ts'
import {
  isCatalogRead,
  type CatalogOperation,
  type CatalogRefusal,
  type CatalogShown,
} from './operation-model.ts'
import { checkOf, known, nodeSpecOf, refuseUnknown, givenServiceOf } from './registration-routes.ts'
import { shownCheck, shownNode, shownService } from './shown.ts'

type Unusable = { readonly type: 'unusable'; readonly what: string }
type Parsed = CatalogOperation | Unusable

/** `kinds` are the members of an operation that name a record. */
export function catalogWords(datacenter: string) {
  const parse = (kind: string, fields: Fields, path: string): Parsed => {
    switch (kind) {
      case 'Node':
        return nodeOperation(fields, path, datacenter)
      case 'Service':
        return serviceOperation(fields, path)
      default:
        return checkOperation(fields, path)
    }
  }
  return { kinds: ['Node', 'Service', 'Check'], parse, show, explain, isRead: isCatalogRead }
}

function nodeOperation(fields: Fields, path: string, datacenter: string): Parsed {
  refuseUnknown(fields, ['Verb', 'Node'], path)
  const record = recordOf(fields, 'Node', path)
  refuseUnknown(record, known.node, `${path}Node.`)
  const node = record.text('Node') ?? ''
  if (node === '') return { type: 'unusable', what: 'the name of the node is missing' }
  return byVerb(fields, record, {
    put: (index) => ({ type: 'put-node', spec: nodeSpecOf(record, datacenter), index }),
    get: () => ({ type: 'get-node', node }),
    remove: (index) => ({ type: 'delete-node', node, index }),
  })
}

function serviceOperation(fields: Fields, path: string): Parsed {
  refuseUnknown(fields, ['Verb', 'Node', 'Service', 'Namespace', 'Partition'], path)
  const record = recordOf(fields, 'Service', path)
  const node = fields.text('Node') ?? ''
  const id = record.text('ID') || record.text('Service') || ''
  if (node === '') return { type: 'unusable', what: 'the node of the service is missing' }
  if (id === '') return { type: 'unusable', what: 'the ID of the service is missing' }
  return byVerb(fields, record, {
    put: (index) => ({ type: 'put-service', node, spec: givenServiceOf(record), index }),
    get: () => ({ type: 'get-service', node, id }),
    remove: (index) => ({ type: 'delete-service', node, id, index }),
  })
}

function checkOperation(fields: Fields, path: string): Parsed {
  refuseUnknown(fields, ['Verb', 'Check'], path)
  const record = recordOf(fields, 'Check', path)
  const node = record.text('Node') ?? ''
  const id = record.text('CheckID') || record.text('Name') || ''
  if (node === '') return { type: 'unusable', what: 'the node of the check is missing' }
  if (id === '') return { type: 'unusable', what: 'the CheckID of the check is missing' }
  return byVerb(fields, record, {
    put: (index) => ({
      type: 'put-check',
      node,
      spec: checkOf(fields.raw('Check'), node),
      index,
    }),
    get: () => ({ type: 'get-check', node, id }),
    remove: (index) => ({ type: 'delete-check', node, id, index }),
  })
}

/** As it is stored. Throws `invalid_argument`. */
function checkedOperation(operation: CatalogOperation): CatalogOperation {
  switch (operation.type) {
    case 'put-node':
      return { ...operation, spec: checkNode(operation.spec) }
    case 'put-service':
      return { ...operation, ...onNode(operation), spec: checkService(operation.spec) }
    case 'put-check':
      return { ...operation, ...onNode(operation), spec: checkCheck(operation.spec) }
    case 'get-node':
    case 'delete-node':
      return { ...operation, ...onNode(operation) }
    default:
      return { ...operation, ...onNode(operation), id: checkName('ID', operation.id) }
  }
}

function onNode({ node }: { readonly node: string }) {
  return { node: checkName('Node', node) }
}

function recordOf(fields: Fields, name: string, path: string): Fields {
  const record = fields.object(name)
  if (record !== undefined) return record
  throw new MusterError('invalid_argument', `${path}${name} is missing`)
}

type Verbs = {
  readonly put: (index: number | null) => CatalogOperation
  readonly get: () => CatalogOperation
  readonly remove: (index: number | null) => CatalogOperation
}

/** The index that a compare-and-set goes by is that of the record in the request. */
function byVerb(fields: Fields, record: Fields, { put, get, remove }: Verbs): Parsed {
  const verb = fields.text('Verb') ?? ''
  const index = record.integer('ModifyIndex') ?? 0
  switch (verb) {
    case 'set':
      return checkedOperation(put(null))
    case 'cas':
      return checkedOperation(put(Math.max(index, 0)))
    case 'get':
      return checkedOperation(get())
    case 'delete':
      return checkedOperation(remove(null))
    case 'delete-cas':
      return checkedOperation(remove(Math.max(index, 0)))
    default:
      return { type: 'unusable', what: `unknown verb ${JSON.stringify(verb.slice(0, 100))}` }
  }
}

function show(shown: CatalogShown) {
  switch (shown.kind) {
    case 'node':
      return { Node: shownNode(shown.row) }
    case 'service':
      return { Service: shownService(shown.row) }
    case 'check':
      return { Check: shownCheck(shown.row) }
    default:
      return assertNever(shown)
  }
}

function explain(operation: CatalogOperation, refusal: CatalogRefusal): string {
  const what = nameOf(operation)
  switch (refusal.type) {
    case 'noRecord':
      return `${what} does not exist`
    case 'otherIndex':
      return `${what} has another index`
    case 'noNode':
      return `${what}: the node does not exist, register it first`
    case 'noService':
      return `${what}: the node has no service with the ID ${JSON.stringify(refusal.service)}`
    case 'noAddress':
      return `${what}: Address is missing, a new node needs one`
    case 'nameTaken':
      return `${what}: the name is reserved by the living node with ID ${refusal.id}`
    default:
      return assertNever(refusal)
  }
}

function nameOf(operation: CatalogOperation): string {
  if (operation.type === 'put-node') return `node ${JSON.stringify(operation.spec.name)}`
  const node = `node ${JSON.stringify(operation.node)}`
  if (!('id' in operation) && !('spec' in operation)) return node
  const id = 'spec' in operation ? operation.spec.id : operation.id
  const kind = operation.type.endsWith('service') ? 'service' : 'check'
  return `${kind} ${JSON.stringify(id)} on ${node}`
}
