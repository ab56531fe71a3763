/** What the methods of user events use. */
import { serviceKey } from '../../rpc/services.ts'
import type { UserEventPool } from './pool.ts'
import type { RecentEvents } from './recent-events.ts'

/** Provided by every process; null: it takes part in no gossip. */
export const userEventPool = serviceKey<UserEventPool | null>('userEvents.pool')

export const recentEvents = serviceKey<RecentEvents>('userEvents.recent')
