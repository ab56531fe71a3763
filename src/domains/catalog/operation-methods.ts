/** What a caller must be allowed for an operation on the catalog inside of a transaction. */
import type { Reader } from '../../fsm/domain.ts'
import { assertNever } from '../../lib/assert.ts'
import type { Requirement } from '../../rpc/method.ts'
import { toNode } from '../../rpc/requirements.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { keyOfName } from './model.ts'
import type { CatalogOperation } from './operation-model.ts'
import { checkOf, serviceOf } from './queries.ts'
import { writesCheck, writesOfNode, writesService } from './register-methods.ts'

/** `reader`: the state before the transaction. `earlier`: its operations before this one. */
export function requirementsOf(
  reader: Reader,
  operation: CatalogOperation,
  earlier: readonly CatalogOperation[],
): readonly Requirement[] | Promise<readonly Requirement[]> {
  switch (operation.type) {
    case 'put-node':
      return writesOfNode(reader, operation.spec)
    case 'delete-node':
      return [writesCheck(operation.node, '')]
    case 'get-node':
      return [reads(operation.node, '')]
    case 'put-service': {
      const { node, spec } = operation
      const before = serviceOf(reader, node, spec.id)
      return [writesService(spec.name), ...(before === null ? [] : [writesService(before.name)])]
    }
    case 'delete-service':
      return [writesCheck(operation.node, nameOfService(reader, operation))]
    case 'get-service':
      return [reads(operation.node, nameOfService(reader, operation))]
    case 'put-check': {
      const { node, spec } = operation
      const before = checkOf(reader, node, spec.id)
      const put = earlier.findLast((one) => isPutOf(one, node, spec.serviceId))
      const service = put?.spec.name ?? serviceOf(reader, node, spec.serviceId)?.name ?? ''
      const writes = writesCheck(node, service)
      return before === null ? [writes] : [writes, writesCheck(node, before.serviceName)]
    }
    case 'delete-check':
      return [writesCheck(operation.node, serviceOfCheck(reader, operation))]
    case 'get-check':
      return [reads(operation.node, serviceOfCheck(reader, operation))]
    default:
      return assertNever(operation)
  }
}

type PutService = Extract<CatalogOperation, { readonly type: 'put-service' }>

function isPutOf(operation: CatalogOperation, node: string, id: string): operation is PutService {
  if (operation.type !== 'put-service' || operation.spec.id !== id) return false
  return keyOfName(operation.node) === keyOfName(node)
}

type Place = { readonly node: string; readonly id: string }

/** Of one that is not there: '', for which the node's rights are asked. */
function nameOfService(reader: Reader, { node, id }: Place): string {
  return serviceOf(reader, node, id)?.name ?? ''
}

function serviceOfCheck(reader: Reader, { node, id }: Place): string {
  return checkOf(reader, node, id)?.serviceName ?? ''
}

function reads(node: string, service: string): Requirement {
  return service === ''
    ? toNode(keyOfName(node), 'read')
    : { resource: 'service', namespace: defaultNamespace, service, access: 'read' }
}
