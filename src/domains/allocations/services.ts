/** What methods of allocations use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { AllocationCollector } from './collector.ts'
import type { AllocationFeeds } from './feeds.ts'
import type { ReportBatches } from './reports.ts'

export const allocationFeeds = serviceKey<AllocationFeeds>('allocations.feeds')
/** Of the agents whose uplinks this server holds. */
export const reportBatches = serviceKey<ReportBatches>('allocations.reports')
/** Where an operator's word goes at the leader. */
export const allocationCollector = serviceKey<AllocationCollector>('allocations.collector')
