/**
 * What a task is told for its templates. Variables it has by being what it is: those of all jobs, of its job, its group and itself. Keys
 * and services it has as a caller without a token would: tasks have none.
 *
 * A node is told for the allocations alone that it runs, so one that lies learns no more than it has to know anyway.
 */
import type { Reader } from '../../fsm/domain.ts'
import type { Permissions } from '../../rpc/authorizer.ts'
import { toNode } from '../../rpc/requirements.ts'
import { isClientTerminal, type AllocationRow } from '../allocations/model.ts'
import { allocationById, versionOfAllocation } from '../allocations/queries.ts'
import { keyOfName, type ServiceRow } from '../catalog/model.ts'
import { checksOfNode, nodeOf, servicesNamed } from '../catalog/queries.ts'
import { registeredJobId } from '../jobs/queries.ts'
import { findIn } from '../kv/held-queries.ts'
import { keyOf, keysBelow, withValue } from '../kv/queries.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import type { Items, SealedRow } from '../variables/model.ts'
import { variableOf } from '../variables/queries.ts'
import { answerLengthMax, entriesMax, type Answer, type Instance, type Want } from './model.ts'

export type AnswerContext = {
  readonly reader: Reader
  /** Of a caller without a token. */
  readonly anonymous: Permissions
  readonly open: (reader: Reader, sealed: SealedRow) => Items
  /** Of keys and instances that are still looked at for this reply, whoever may read them. */
  readonly left: { rows: number }
}

/** Of one reply. */
export const rowsMax = 65_536

export async function answerTo(
  context: AnswerContext,
  nodeId: string,
  { allocation, task, dependency }: Want,
): Promise<Answer> {
  const row = allocationById(context.reader, allocation)
  if (row?.nodeId !== nodeId || isClientTerminal(row) || !hasTask(context.reader, row, task)) {
    return refused('the node runs no such task')
  }
  const { type, path } = dependency
  switch (type) {
    case 'key':
      return keyAnswer(context, row.namespace, path)
    case 'keys':
      return bounded(await keysAnswer(context, row.namespace, path), 'keys below the folder')
    case 'variable':
      return variableAnswer(context, row, task, path)
    case 'service':
      return bounded(await serviceAnswer(context, path), 'instances of the service')
  }
}

function hasTask(reader: Reader, row: AllocationRow, task: string): boolean {
  const groups = versionOfAllocation(reader, row)?.spec.TaskGroups ?? []
  const group = groups.find(({ Name }) => Name === row.group)
  return group?.Tasks.some(({ Name }) => Name === task) === true
}

function refused(reason: string): Answer {
  return { type: 'refused', reason }
}

const tooMuch = refused(`the templates of the node take over ${rowsMax} keys and instances`)

function bounded(answer: Answer, what: string): Answer {
  return JSON.stringify(answer).length > answerLengthMax
    ? refused(`the ${what} take over ${answerLengthMax} characters`)
    : answer
}

const asAnonymous = 'a task has no token, and a caller without one lacks'

function keyAnswer({ reader, anonymous }: AnswerContext, namespace: string, key: string): Answer {
  if (!anonymous.may({ resource: 'key', namespace, key, access: 'read' })) {
    return refused(`${asAnonymous} 'key:read' on it`)
  }
  const { value } = keyOf(reader, { namespace, key })
  return value === null ? { type: 'none' } : { type: 'key', value: textOf(value.value) }
}

async function keysAnswer(
  { reader, anonymous, left }: AnswerContext,
  namespace: string,
  folder: string,
): Promise<Answer> {
  const pairs: [string, string][] = []
  const find = findIn(reader)
  let seen = 0
  for await (const page of keysBelow(reader, { namespace, key: folder })) {
    for (const stored of page) {
      const { row } = find(stored)
      const { key } = stored
      if (row === null || !anonymous.may({ resource: 'key', namespace, key, access: 'read' })) {
        continue
      }
      // The folder itself may be a key.
      if (key !== folder)
        pairs.push([key.slice(folder.length), textOf(withValue(reader, row).value)])
    }
    // Those that it may not read cost as much.
    seen += page.length
    left.rows -= page.length
    if (seen > entriesMax) return refused(`over ${entriesMax} keys are below it`)
    if (left.rows < 0) return tooMuch
  }
  return { type: 'keys', pairs }
}

function textOf(value: Uint8Array | null): string {
  return value === null ? '' : Buffer.from(value).toString('utf8')
}

/** As Nomad gives them to workloads. Jobs that another one started have the variables of that one. */
function variableAnswer(
  { reader, open }: AnswerContext,
  row: AllocationRow,
  task: string,
  path: string,
): Answer {
  const { namespace, jobId, group } = row
  const ofJob = `nomad/jobs/${registeredJobId(reader, namespace, jobId)}`
  const own = ['nomad/jobs', ofJob, `${ofJob}/${group}`, `${ofJob}/${group}/${task}`]
  if (!own.includes(path)) return refused(`the task may read the variables ${own.join(', ')}`)
  const { found } = variableOf(reader, namespace, path)
  if (found === null) return { type: 'none' }
  return { type: 'variable', items: open(reader, found.sealed).map(([key, value]) => [key, value]) }
}

/** Those whose checks all pass. */
async function serviceAnswer(
  { reader, anonymous, left }: AnswerContext,
  name: string,
): Promise<Answer> {
  const service = { resource: 'service', namespace: defaultNamespace, service: name } as const
  if (!anonymous.may({ ...service, access: 'read' })) {
    return refused(`${asAnonymous} 'service:read' on it`)
  }
  const instances: Instance[] = []
  let seen = 0
  for await (const page of servicesNamed(reader, name)) {
    for (const row of page) {
      const readsNode = toNode(keyOfName(row.node), 'read')
      if (!anonymous.may(readsNode) || !(await passes(reader, row))) continue
      instances.push(instanceOf(row, nodeOf(reader, row.node)?.address ?? ''))
    }
    seen += page.length
    left.rows -= page.length
    if (seen > entriesMax) return refused(`it has over ${entriesMax} instances`)
    if (left.rows < 0) return tooMuch
  }
  return { type: 'service', instances }
}

async function passes(reader: Reader, { node, id }: ServiceRow): Promise<boolean> {
  for await (const page of checksOfNode(reader, node)) {
    const own = page.filter(({ serviceId }) => serviceId === '' || serviceId === id)
    if (own.some(({ status }) => status !== 'passing')) return false
  }
  return true
}

function instanceOf(
  { id, name, node, address, port, tags }: ServiceRow,
  nodeAddress: string,
): Instance {
  return {
    id,
    name,
    node,
    nodeAddress,
    address: address === '' ? nodeAddress : address,
    port,
    tags: [...tags],
  }
}
