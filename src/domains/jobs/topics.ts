/** What readers of events are told of jobs: that one changed, and how it stands; what it is to run they read. */
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { shownSummary } from './shown.ts'
import { jobs, type JobRow } from './table.ts'

export const jobTopic = {
  name: 'Job',
  least: leastForNamespaces,
  table: jobs,
  types: { written: 'JobUpdated', removed: 'JobDeregistered' },
  requires: null,
  inKeyOrder: true,
  describe: (row: JobRow) => ({
    key: row.id,
    namespace: row.namespace,
    filterKeys: [],
    modifyIndex: row.modifyIndex,
    payload: {
      Job: {
        ID: row.id,
        Namespace: row.namespace,
        Type: row.type,
        Priority: row.priority,
        Version: row.version,
        Stop: row.stop,
        Status: row.status,
        JobSummary: shownSummary(row),
        CreateIndex: row.createIndex,
        ModifyIndex: row.modifyIndex,
        JobModifyIndex: row.jobModifyIndex,
      },
    },
    requires: [inNamespace(row.namespace, 'read-job')],
  }),
}
