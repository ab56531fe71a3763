/** What scheduling uses, and what others see of it. */
import { serviceKey } from '../../rpc/services.ts'
import type { WorkerPool, WorkerSettings } from './workers.ts'

/** Provided by the server. */
export const workerSettings = serviceKey<WorkerSettings>('scheduling.settings')

export const schedulerWorkers = serviceKey<WorkerPool>('scheduling.workers')
