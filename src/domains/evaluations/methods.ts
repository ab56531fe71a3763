/** What may be asked about evaluations. */
import { Type } from 'typebox'
import { indexOfRows, onePage, Page, wholeList } from '../../rpc/list.ts'
import { defineQuery } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { allNamespaces, checkNamespaceName, defaultNamespace } from '../namespaces/model.ts'
import { checkIdPrefix, checkWholeId } from './id-model.ts'
import type { EvaluationRow } from './model.ts'
import { evaluationById, evaluationsOfJob, evaluationsWithPrefix } from './queries.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { evaluationFilters, filteredEvaluation } from './shown.ts'
import { evaluations } from './table.ts'

const Word = Type.String({ maxLength: 1_024 })

/** `*`: of all namespaces. `job` and `status`: '' for any. */
const list = defineQuery({
  kind: 'query',
  name: 'evaluations.list',
  long: true,
  args: Type.Object({ ...Page, namespace: Word, job: Word, status: Word }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: async (reader, args, context) => {
    const { namespace, job, status, prefix, filter, nextToken, perPage } = args
    const isAsked = (row: EvaluationRow): boolean =>
      (namespace === allNamespaces || namespace === row.namespace) &&
      (job === '' || job === row.jobId) &&
      (status === '' || status === row.status)
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: evaluationsWithPrefix(reader, checkIdPrefix(prefix)),
        keyOf: evaluations.key,
        show: (row, may) =>
          isAsked(row) && may(inNamespace(row.namespace, 'read-job')) ? row : null,
        filter: evaluationFilters.compile(filter),
        recordOf: filteredEvaluation,
      },
    )
    return { value, index: reader.tableIndex(evaluations) }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'evaluations.read',
  args: Type.Object({ id: Word }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { id }, context) => {
    const row = evaluationById(reader, id.toLowerCase())
    const missing = "'namespace:read-job' on the evaluation's namespace"
    mustMay(context, inNamespace(row?.namespace ?? defaultNamespace, 'read-job'), missing)
    checkWholeId('evaluation', id)
    return { value: row, index: row?.modifyIndex ?? reader.tableIndex(evaluations) }
  },
})

/** The oldest first. */
const ofJob = defineQuery({
  kind: 'query',
  name: 'evaluations.ofJob',
  long: true,
  args: Type.Object({ namespace: Word, jobId: Word }),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: async (reader, job, context) => {
    checkNamespaceName(job.namespace)
    const value = await onePage(context, wholeList, {
      pages: evaluationsOfJob(reader, job),
      keyOf: evaluations.key,
      show: (row) => row,
      filter: null,
    })
    return { value, index: indexOfRows(reader, evaluations, value.rows) }
  },
})

export const evaluationMethods = { list, read, ofJob }
