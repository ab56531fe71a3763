/** What the methods and duties of variables use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { ClusterKeyLink, ClusterKeyShare } from './cluster-key-share.ts'
import type { ClusterKeys } from './cluster-key.ts'
import type { ClusterKeyring } from './keyring.ts'

/** Provided by the server: the cluster keys on its disk. */
export const clusterKeys = serviceKey<ClusterKeys>('variables.clusterKeys')
/** Provided by the server: its way to the others. */
export const clusterKeyLink = serviceKey<ClusterKeyLink>('variables.clusterKeyLink')

export const clusterKeyring = serviceKey<ClusterKeyring>('variables.keyring')
/** Its `handle` answers other servers. */
export const clusterKeyShare = serviceKey<ClusterKeyShare>('variables.clusterKeyShare')
