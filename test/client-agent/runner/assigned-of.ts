/** An allocation as servers assign it. */
import type { Assigned } from '../../../src/domains/allocations/feed-model.ts'

export function assignedOf(id: string, group: Assigned['group']): Assigned {
  return {
    id,
    name: 'j.g[0]',
    namespace: 'default',
    evalId: id,
    jobId: 'j',
    jobName: 'j',
    jobType: 'batch',
    jobPriority: 50,
    jobVersion: 0,
    jobMeta: {},
    region: 'global',
    datacenter: 'dc1',
    group,
    groupName: 'g',
    resources: { tasks: [], diskMb: 0, ports: [] },
    desiredStatus: 'run',
    migrate: false,
    previous: '',
    createMs: 0,
    allocModifyIndex: 1,
  }
}
