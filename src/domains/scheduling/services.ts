/** What scheduling uses, and what others see of it. */
import { serviceKey } from '../../rpc/services.ts'
import type { Lender } from './lender.ts'
import type { WorkerPool, WorkerSettings } from './workers.ts'

/** Provided by the server. */
export const workerSettings = serviceKey<WorkerSettings>('scheduling.settings')

/** Null: this server does not lead. */
export const evaluationLending = serviceKey<{ lender: Lender | null }>('scheduling.lending')

export const schedulerWorkers = serviceKey<WorkerPool>('scheduling.workers')
