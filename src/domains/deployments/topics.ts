/** What readers of events are told of deployments. */
import type { DeploymentRow } from './model.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { shownDeployment } from './shown.ts'
import { deployments } from './table.ts'

export const deploymentTopic = {
  name: 'Deployment',
  least: leastForNamespaces,
  table: deployments,
  types: { written: 'DeploymentUpdated', removed: 'DeploymentCollected' },
  requires: null,
  inKeyOrder: false,
  describe: (row: DeploymentRow) => ({
    key: row.id,
    namespace: row.namespace,
    filterKeys: [row.jobId],
    modifyIndex: row.modifyIndex,
    payload: { Deployment: shownDeployment(row) },
    requires: [inNamespace(row.namespace, 'read-job')],
  }),
}
