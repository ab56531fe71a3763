/** What the gossip pool's methods use. */
import { serviceKey } from '../../rpc/services.ts'
import type { PoolOfServer } from './pool.ts'

/** Provided by every process. */
export const gossipPool = serviceKey<PoolOfServer>('members.pool')
