/** Policies by which groups are scaled, as the API shows them. */
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { ScalingPolicy } from './scaling-queries.ts'

export function shownPolicyStub({
  id,
  namespace,
  jobId,
  group,
  scaling: { Enabled, Type },
  createIndex,
  modifyIndex,
}: ScalingPolicy) {
  return {
    ID: id,
    Enabled,
    Type,
    Target: { Namespace: namespace, Job: jobId, Group: group },
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  }
}

export function shownPolicy(policy: ScalingPolicy) {
  const { Policy, Min, Max } = policy.scaling
  return { ...shownPolicyStub(policy), Policy, Min, Max }
}

export const scalingFilters = new FilterCompiler({
  ID: 'string',
  Enabled: 'boolean',
  Type: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
})
