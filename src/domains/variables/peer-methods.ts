/** What servers ask one another about the cluster key. */
import { definePeerMethod } from '../../rpc/method.ts'
import { ClusterKeyReply, ClusterKeyRequest } from './cluster-key-model.ts'
import { clusterKeyShare } from './services.ts'

export const clusterKeyMethod = definePeerMethod({
  kind: 'peer',
  name: 'keyring.clusterKey',
  args: ClusterKeyRequest,
  reply: ClusterKeyReply,
  run: ({ service }, request) => service(clusterKeyShare).handle(request),
})
