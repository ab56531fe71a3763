/** What may be asked about deployments. */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { indexOfRows, onePage, Page, wholeList } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery, type LeaderContext } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkIdPrefix, checkWholeId } from '../evaluations/id-model.ts'
import { GroupName } from '../evaluations/model.ts'
import { jobOf } from '../jobs/queries.ts'
import { allNamespaces, checkNamespaceName, defaultNamespace } from '../namespaces/model.ts'
import {
  failDeployment,
  pauseDeployment,
  promoteDeployment,
  type DeploymentOutcome,
} from './commands.ts'
import type { DeploymentRow } from './model.ts'
import {
  deploymentById,
  deploymentsOfJob,
  deploymentsWithPrefix,
  newestDeploymentOf,
} from './queries.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { deploymentFilters, filteredDeployment } from './shown.ts'
import { deployments } from './table.ts'

const Word = Type.String({ maxLength: 1_024 })

/** `*`: of all namespaces. */
const list = defineQuery({
  kind: 'query',
  name: 'deployments.list',
  long: true,
  args: Type.Object({ ...Page, namespace: Word }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: async (reader, { namespace, prefix, filter, nextToken, perPage }, context) => {
    const isAsked = (row: DeploymentRow): boolean =>
      namespace === allNamespaces || namespace === row.namespace
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: deploymentsWithPrefix(reader, checkIdPrefix(prefix)),
        keyOf: deployments.key,
        show: (row, may) =>
          isAsked(row) && may(inNamespace(row.namespace, 'read-job')) ? row : null,
        filter: deploymentFilters.compile(filter),
        recordOf: filteredDeployment,
      },
    )
    return { value, index: reader.tableIndex(deployments) }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'deployments.read',
  args: Type.Object({ id: Word }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { id }, context) => {
    const row = deploymentById(reader, id.toLowerCase())
    mustMay(context, inNamespace(row?.namespace ?? defaultNamespace, 'read-job'), lacksRead)
    checkWholeId('deployment', id)
    return { value: row, index: row?.modifyIndex ?? reader.tableIndex(deployments) }
  },
})

/** The oldest first. `all`: also those of a job that was purged, and that this one has its id from. */
const ofJob = defineQuery({
  kind: 'query',
  name: 'deployments.ofJob',
  long: true,
  args: Type.Object({ namespace: Word, jobId: Word, all: Type.Boolean() }),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: async (reader, { all, ...key }, context) => {
    checkNamespaceName(key.namespace)
    const job = all ? null : jobOf(reader, key.namespace, key.jobId)
    const value = await onePage(context, wholeList, {
      pages: deploymentsOfJob(reader, key),
      keyOf: deployments.key,
      show: (row) => (job === null || job.createIndex === row.jobCreateIndex ? row : null),
      filter: null,
    })
    return { value, index: indexOfRows(reader, deployments, value.rows) }
  },
})

/** Null: the job has none. */
const newestOfJob = defineQuery({
  kind: 'query',
  name: 'deployments.newestOfJob',
  args: Type.Object({ namespace: Word, jobId: Word }),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: async (reader, key) => {
    checkNamespaceName(key.namespace)
    const job = jobOf(reader, key.namespace, key.jobId)
    const newest = await newestDeploymentOf(reader, key)
    const value = job === null || newest?.jobCreateIndex !== job.createIndex ? null : newest
    return { value, index: value?.modifyIndex ?? reader.tableIndex(deployments) }
  },
})

/** What became of it; '': there was nothing to evaluate, the job is gone. */
export type DeploymentChanged = {
  readonly index: number
  readonly evaluation: string
  readonly modifyIndex: number
  readonly revertedVersion: number | null
}

const fail = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'deployments.fail',
  args: Type.Object({ id: Word }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id }) => {
    const args = { ...chosen(context, id), operator: true }
    return settled(await context.propose(failDeployment, args))
  },
})

const pause = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'deployments.pause',
  args: Type.Object({ id: Word, pause: Type.Boolean() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, pause: isPaused }) => {
    const args = { ...chosen(context, id), pause: isPaused }
    return settled(await context.propose(pauseDeployment, args))
  },
})

/** `groups`: null for all. */
const promote = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'deployments.promote',
  args: Type.Object({
    id: Word,
    groups: Type.Union([Type.Null(), Type.Array(GroupName, { maxItems: 256 })]),
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, groups }) => {
    const args = { ...chosen(context, id), groups }
    return settled(await context.propose(promoteDeployment, args))
  },
})

/** Deployments of several regions wait for one another; each cluster stands for itself, so none does. */
const unblock = defineLeaderMethod({
  kind: 'leader',
  name: 'deployments.unblock',
  args: Type.Object({ id: Word }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id }): Promise<never> => {
    const { status } = changeable(context, id)
    const text = `the deployment is not blocked: it is ${status}, and only those of several regions wait for one another`
    return Promise.reject(new MusterError('invalid_argument', text))
  },
})

export const deploymentMethods = {
  list,
  read,
  ofJob,
  newestOfJob,
  fail,
  pause,
  promote,
  unblock,
}

const lacksRead = "'namespace:read-job' on the deployment's namespace"
const lacksSubmit = "'namespace:submit-job' on the deployment's namespace"

/** Throws `permission_denied`, `invalid_argument` or `not_found`. */
function changeable(context: LeaderContext, id: string): DeploymentRow {
  const row = deploymentById(context.read(), id.toLowerCase())
  mustMay(context, inNamespace(row?.namespace ?? defaultNamespace, 'submit-job'), lacksSubmit)
  checkWholeId('deployment', id)
  if (row === null) throw new MusterError('not_found', 'deployment not found')
  return row
}

/** What the proposer of an entry chooses. */
function chosen(context: LeaderContext, id: string) {
  const row = changeable(context, id)
  return { id: row.id, evaluationId: randomUUID(), nowMs: Math.floor(context.clock.wallMs()) }
}

function settled({
  index,
  outcome,
}: {
  readonly index: number
  readonly outcome: DeploymentOutcome
}): DeploymentChanged {
  switch (outcome.type) {
    case 'changed': {
      const { row, evaluation, revertedVersion } = outcome
      const { modifyIndex } = row
      return { index, evaluation: evaluation?.id ?? '', modifyIndex, revertedVersion }
    }
    case 'unknown':
      throw new MusterError('not_found', 'deployment not found')
    case 'refused':
      throw new MusterError('invalid_argument', outcome.reason)
  }
}
