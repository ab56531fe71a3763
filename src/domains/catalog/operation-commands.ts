/** What becomes of operations on the catalog at one index: each sees what those before it did. */
import { assertNever } from '../../lib/assert.ts'
import { register } from './commands.ts'
import { indexed, type CatalogDraft, type Indexed, type Standing } from './draft-commands.ts'
import type { CatalogOperation, CatalogRefusal, CatalogShown } from './operation-model.ts'

/** `shown` waits for the index of the entry. */
export type CatalogResult =
  | { readonly type: 'shown'; readonly shown: (index: number) => CatalogShown | null }
  | { readonly type: 'refused'; readonly refusal: CatalogRefusal }

const nothing: CatalogResult = { type: 'shown', shown: () => null }

/** Changes the draft unless it refuses. */
export async function operate(
  draft: CatalogDraft,
  operation: CatalogOperation,
): Promise<CatalogResult> {
  switch (operation.type) {
    case 'put-node': {
      const { spec, index } = operation
      if (isOther(draft.standingNode(spec.name), index)) return refused({ type: 'otherIndex' })
      const registration = { node: spec, skipNodeUpdate: false, service: null, checks: [] }
      const outcome = await register(draft, registration)
      if (outcome.type === 'noAddress' || outcome.type === 'nameTaken') return refused(outcome)
      return nodeShown(draft, spec.name)
    }
    case 'get-node':
      return nodeShown(draft, operation.node)
    case 'delete-node':
      if (isOtherOrNone(draft.standingNode(operation.node), operation.index)) {
        return refused({ type: 'otherIndex' })
      }
      await draft.removeNode(operation.node)
      return nothing
    case 'put-service': {
      const { node, spec, index } = operation
      const known = draft.node(node)
      if (known === null) return refused({ type: 'noNode' })
      if (isOther(draft.standingService(node, spec.id), index)) {
        return refused({ type: 'otherIndex' })
      }
      await draft.putService(known.name, spec)
      return serviceShown(draft, node, spec.id)
    }
    case 'get-service':
      return serviceShown(draft, operation.node, operation.id)
    case 'delete-service': {
      const { node, id, index } = operation
      if (isOtherOrNone(draft.standingService(node, id), index)) {
        return refused({ type: 'otherIndex' })
      }
      await draft.removeService(node, id)
      return nothing
    }
    case 'put-check': {
      const { node, spec, index } = operation
      const known = draft.node(node)
      if (known === null) return refused({ type: 'noNode' })
      const { id, serviceId } = spec
      if (serviceId !== '' && draft.service(node, serviceId) === null) {
        return refused({ type: 'noService', service: serviceId })
      }
      if (isOther(draft.standingCheck(node, id), index)) return refused({ type: 'otherIndex' })
      draft.putCheck(known.name, spec)
      return checkShown(draft, node, id)
    }
    case 'get-check':
      return checkShown(draft, operation.node, operation.id)
    case 'delete-check': {
      const { node, id, index } = operation
      if (isOtherOrNone(draft.standingCheck(node, id), index)) {
        return refused({ type: 'otherIndex' })
      }
      draft.removeCheck(node, id)
      return nothing
    }
    default:
      return assertNever(operation)
  }
}

function refused(refusal: CatalogRefusal): CatalogResult {
  return { type: 'refused', refusal }
}

/** What is found now is shown, whatever later operations make of it. */
function shown<Spec extends object>(
  standing: Standing<Spec>,
  show: (row: Indexed<Spec>) => CatalogShown,
): CatalogResult {
  if (standing.after === null) return refused({ type: 'noRecord' })
  return {
    type: 'shown',
    shown: (index) => {
      const row = indexed(standing, index)
      return row === null ? null : show(row)
    },
  }
}

function nodeShown(draft: CatalogDraft, node: string): CatalogResult {
  return shown(draft.standingNode(node), (row) => ({ kind: 'node', row }))
}

function serviceShown(draft: CatalogDraft, node: string, id: string): CatalogResult {
  return shown(draft.standingService(node, id), (row) => ({ kind: 'service', row }))
}

function checkShown(draft: CatalogDraft, node: string, id: string): CatalogResult {
  return shown(draft.standingCheck(node, id), (row) => ({ kind: 'check', row }))
}

/** Nobody can know the index of what this very transaction changed: it is never the expected one. */
function indexOf(standing: Standing<object>): number | null {
  const unknown = -1
  return indexed(standing, unknown)?.modifyIndex ?? null
}

/** To be written: 0 is the index of what is not there. */
function isOther(standing: Standing<object>, expected: number | null): boolean {
  return expected !== null && (indexOf(standing) ?? 0) !== expected
}

/** To be deleted: what is not there has no index. */
function isOtherOrNone(standing: Standing<object>, expected: number | null): boolean {
  return expected !== null && indexOf(standing) !== expected
}
