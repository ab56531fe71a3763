/** What may be asked about the policies by which groups are scaled. */
import { Type } from 'typebox'
import { onePage, Page } from '../../rpc/list.ts'
import { defineQuery, type Requirement } from '../../rpc/method.ts'
import { leastForNamespaces } from '../../rpc/requirements.ts'
import { checkIdPrefix, checkWholeId } from '../evaluations/id-model.ts'
import { allNamespaces } from '../namespaces/model.ts'
import { scalingPolicies, scalingPolicyById, type ScalingPolicy } from './scaling-queries.ts'
import { scalingFilters, shownPolicyStub } from './scaling-shown.ts'
import { jobs } from './table.ts'

const Word = Type.String({ maxLength: 1_024 })

/** `*`: of all namespaces. `jobId`, `type`: '' for any. */
const list = defineQuery({
  kind: 'query',
  name: 'jobs.scalingPolicies',
  long: true,
  args: Type.Object({ ...Page, namespace: Word, jobId: Word, type: Word }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: async (reader, args, context) => {
    const { namespace, jobId, type, filter, nextToken, perPage } = args
    const prefix = checkIdPrefix(args.prefix)
    const isAsked = ({ id, scaling }: ScalingPolicy): boolean =>
      id.startsWith(prefix) && (type === '' || scaling.Type === type)
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: scalingPolicies(reader, {
          namespace: namespace === allNamespaces ? null : namespace,
          jobId: jobId === '' ? null : jobId,
        }),
        keyOf: (policy) => [policy.namespace, policy.jobId, policy.group],
        show: (policy, may) =>
          isAsked(policy) && may(to(policy.namespace, 'list-scaling-policies')) ? policy : null,
        filter: scalingFilters.compile(filter),
        recordOf: shownPolicyStub,
      },
    )
    return { value, index: reader.tableIndex(jobs) }
  },
})

/** `*`: in any namespace that the caller may read it in. */
const read = defineQuery({
  kind: 'query',
  name: 'jobs.scalingPolicy',
  args: Type.Object({ namespace: Word, id: Word }),
  requires: ({ namespace }) =>
    namespace === allNamespaces ? { resource: 'none' } : to(namespace, 'read-scaling-policy'),
  least: leastForNamespaces,
  query: async (reader, { namespace, id }, context) => {
    const whole = checkWholeId('scaling policy', id)
    const any = namespace === allNamespaces
    const found = await scalingPolicyById(reader, whole, any ? null : namespace)
    const value =
      found !== null && context.may(to(found.namespace, 'read-scaling-policy')) ? found : null
    return { value, index: value?.modifyIndex ?? reader.tableIndex(jobs) }
  },
})

export const scalingPolicyMethods = { list, read }

function to(
  namespace: string,
  access: 'list-scaling-policies' | 'read-scaling-policy',
): Requirement {
  return { resource: 'namespace', namespace, access }
}
