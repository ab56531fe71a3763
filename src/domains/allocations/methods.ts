/** What may be asked about allocations. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import { indexOfRows, onePage, Page, wholeList, type May } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery, type QueryContext } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { deploymentById } from '../deployments/queries.ts'
import { checkIdPrefix, checkWholeId } from '../evaluations/id-model.ts'
import { evaluateJob } from '../jobs/commands.ts'
import { jobOf } from '../jobs/queries.ts'
import { nodeById } from '../nodes/queries.ts'
import { keyOfName } from '../catalog/model.ts'
import { allNamespaces, defaultNamespace, staticPortsOf, type AllocationRow } from './model.ts'
import { judgedMax, setHealth } from './health-commands.ts'
import { moveAllocations } from './move-commands.ts'
import {
  allocationById,
  allocationsEverOnNode,
  allocationsOfDeployment,
  allocationsOfEvaluation,
  allocationsOfJob,
  allocationsWithPrefix,
  isUnpromotedCanary,
  jobTypeOf,
  specsOf,
  versionOfAllocation,
} from './queries.ts'
import { inNamespace, leastForNamespaces, toNode } from '../../rpc/requirements.ts'
import { allocationCollector } from './services.ts'
import {
  allocationFilters,
  filteredAllocation,
  type JobOfAllocation,
  type JobVersion,
  type ListedAllocation,
} from './shown.ts'
import { allocations } from './table.ts'

const Judged = Type.Array(Type.String(), { maxItems: judgedMax })

/** `*`: all. */
const list = defineQuery({
  kind: 'query',
  name: 'allocations.list',
  long: true,
  args: Type.Object({ ...Page, namespace: Type.String() }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: async (reader, { namespace, prefix, filter, nextToken, perPage }, context) => {
    const show = listedBy(reader)
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: allocationsWithPrefix(reader, checkIdPrefix(prefix)),
        keyOf: allocations.key,
        show: (row, may) =>
          namespace === allNamespaces || namespace === row.namespace ? show(row, may) : null,
        filter: allocationFilters.compile(filter),
        recordOf: filteredAllocation,
      },
    )
    return { value, index: reader.tableIndex(allocations) }
  },
})

/** `all`: also those of a job that was purged, and that this one has its id from. */
const ofJob = defineQuery({
  kind: 'query',
  name: 'allocations.ofJob',
  long: true,
  args: Type.Object({ namespace: Type.String(), jobId: Type.String(), all: Type.Boolean() }),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: (reader, { all, ...key }, context) => {
    const job = all ? null : jobOf(reader, key.namespace, key.jobId)
    const isOfIt = ({ jobCreateIndex }: AllocationRow) =>
      job === null || jobCreateIndex === job.createIndex
    return listed(reader, context, allocationsOfJob(reader, key), isOfIt)
  },
})

/** Those of an evaluation that the caller may see. */
const ofEvaluation = defineQuery({
  kind: 'query',
  name: 'allocations.ofEvaluation',
  long: true,
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: (reader, { id }, context) => {
    const whole = checkWholeId('evaluation', id)
    return listed(reader, context, allocationsOfEvaluation(reader, whole))
  },
})

/** Those of a deployment, in the order of their ids. */
const ofDeployment = defineQuery({
  kind: 'query',
  name: 'allocations.ofDeployment',
  long: true,
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: (reader, { id }, context) => {
    const whole = checkWholeId('deployment', id)
    return listed(reader, context, allocationsOfDeployment(reader, whole))
  },
})

/** The allocation, and what there is of its job. */
export type WholeAllocation = {
  readonly row: AllocationRow
  readonly version: JobVersion | null
  readonly job: JobOfAllocation | null
  readonly isCanary: boolean
}

const ofNode = defineQuery({
  kind: 'query',
  name: 'allocations.ofNode',
  long: true,
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { id }, context) => {
    const name = nodeById(reader, id.toLowerCase())?.spec.name ?? ''
    const readsNode = toNode(keyOfName(name), 'read')
    mustMay(context, readsNode, "'node:read' on the node")
    const whole = wholeBy(reader)
    const value = await onePage(context, wholeList, {
      pages: allocationsEverOnNode(reader, checkWholeId('node', id)),
      keyOf: allocations.key,
      show: (row, may) => (may(inNamespace(row.namespace, 'read-job')) ? whole(row) : null),
      filter: null,
    })
    return {
      value,
      index: indexOfRows(
        reader,
        allocations,
        value.rows.map(({ row }) => row),
      ),
    }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'allocations.whole',
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { id }, context) => {
    const row = allocationById(reader, id.toLowerCase())
    mustMay(context, inNamespace(row?.namespace ?? defaultNamespace, 'read-job'), lacksRead)
    checkWholeId('allocation', id)
    const value = row === null ? null : wholeBy(reader)(row)
    return { value, index: row?.modifyIndex ?? reader.tableIndex(allocations) }
  },
})

export type Stopped = { readonly index: number; readonly evaluation: string }

const stop = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'allocations.stop',
  args: Type.Object({ id: Type.String(), skipsDelay: Type.Optional(Type.Boolean()) }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, skipsDelay }): Promise<Stopped> => {
    const row = allocationById(context.read(), id.toLowerCase())
    const namespace = row?.namespace ?? defaultNamespace
    mustMay(context, inNamespace(namespace, 'alloc-lifecycle'), lacksLifecycle)
    const whole = checkWholeId('allocation', id)
    if (row === null) throw new MusterError('not_found', 'allocation not found')
    const nowMs = Math.floor(context.clock.wallMs())
    const { index, outcome } = await context.propose(moveAllocations, {
      ids: [whole],
      trigger: 'alloc-stop',
      nodeId: '',
      ...(skipsDelay === true && { skipsDelay }),
      nowMs,
    })
    const [made] = outcome.evaluations
    if (made !== undefined) return { index, evaluation: made }
    // It has ended, or is about to: whoever asks follows the evaluation of its job all the same, as at Nomad.
    const args = { namespace, id: row.jobId, evaluationId: randomUUID(), nowMs }
    const looked = await context.propose(evaluateJob, args)
    const evaluated = looked.outcome.type === 'evaluated' ? looked.outcome.evaluation.id : ''
    return { index: looked.index, evaluation: evaluated }
  },
})

/** An operator's word on allocations of a deployment. */
const judge = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'allocations.judge',
  args: Type.Object({ id: Type.String(), healthy: Judged, unhealthy: Judged }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, healthy, unhealthy }) => {
    const row = deploymentById(context.read(), id.toLowerCase())
    const namespace = row?.namespace ?? defaultNamespace
    mustMay(context, inNamespace(namespace, 'submit-job'), lacksSubmit)
    checkWholeId('deployment', id)
    if (row === null) throw new MusterError('not_found', 'deployment not found')
    const wholeIds = (ids: readonly string[]) => ids.map((one) => checkWholeId('allocation', one))
    const { index, outcome } = await context.propose(setHealth, {
      id: row.id,
      healthy: wholeIds(healthy),
      unhealthy: wholeIds(unhealthy),
      evaluationId: randomUUID(),
      nowMs: Math.floor(context.clock.wallMs()),
    })
    if (outcome.type === 'unknown') throw new MusterError('not_found', 'deployment not found')
    if (outcome.type === 'refused') throw new MusterError('invalid_argument', outcome.reason)
    const { evaluation, revertedVersion } = outcome
    const { modifyIndex } = outcome.row
    return { index, evaluation: evaluation?.id ?? '', modifyIndex, revertedVersion }
  },
})

/** What is over is forgotten now; goes on in the background. */
const collect = defineLeaderMethod({
  kind: 'leader',
  name: 'allocations.collect',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context): Promise<null> => {
    context.service(allocationCollector).collectNow()
    return Promise.resolve(null)
  },
})

export const allocationMethods = {
  list,
  ofJob,
  ofEvaluation,
  ofDeployment,
  ofNode,
  read,
  stop,
  judge,
  collect,
}

const lacksRead = "'namespace:read-job' on the allocation's namespace"
const lacksSubmit = "'namespace:submit-job' on the deployment's namespace"
const lacksLifecycle = "'namespace:alloc-lifecycle' on the allocation's namespace"

async function listed(
  reader: Reader,
  context: QueryContext,
  pages: AsyncIterable<readonly AllocationRow[]>,
  isListed: (row: AllocationRow) => boolean = () => true,
) {
  const show = listedBy(reader)
  const value = await onePage(context, wholeList, {
    pages,
    keyOf: allocations.key,
    show: (row, may) => (isListed(row) ? show(row, may) : null),
    filter: null,
  })
  return {
    value,
    index: indexOfRows(
      reader,
      allocations,
      value.rows.map(({ row }) => row),
    ),
  }
}

/** Jobs and versions are read once for all rows of a list. */
function listedBy(reader: Reader): (row: AllocationRow, may: May) => ListedAllocation | null {
  const types = new Map<string, string | null>()
  const specOf = specsOf(reader)
  return (row, may) => {
    if (!may(inNamespace(row.namespace, 'read-job'))) return null
    const key = JSON.stringify([row.namespace, row.jobId, row.jobCreateIndex, row.jobVersion])
    let jobType = types.get(key)
    if (jobType === undefined) {
      jobType = jobTypeOf(reader, row)
      types.set(key, jobType)
    }
    const spec = row.resources.ports.length === 0 ? null : specOf(row)
    const staticPorts = spec === null ? [] : staticPortsOf(spec, row)
    const isCanary = isUnpromotedCanary(reader, row)
    return { row, jobType, isCanary, ...(staticPorts.length > 0 && { staticPorts }) }
  }
}

function wholeBy(reader: Reader): (row: AllocationRow) => WholeAllocation {
  const versions = new Map<string, Pick<WholeAllocation, 'version' | 'job'>>()
  return (row) => {
    const key = JSON.stringify([row.namespace, row.jobId, row.jobCreateIndex, row.jobVersion])
    let known = versions.get(key)
    if (known === undefined) {
      const job = jobOf(reader, row.namespace, row.jobId)
      known = { version: versionOfAllocation(reader, row), job }
      versions.set(key, known)
    }
    return { row, ...known, isCanary: isUnpromotedCanary(reader, row) }
  }
}
