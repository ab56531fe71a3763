/** What the methods about one process use. */
import { serviceKey } from '../../rpc/services.ts'
import type { HeapSampler } from './heap-sampler.ts'
import type { Monitors } from './monitor.ts'
import type { Profiles } from './profiles.ts'
import type { ProcessInfo } from './process-info.ts'

/** Provided by every process. */
export const processInfo = serviceKey<ProcessInfo>('process.info')

/** Provided by every process: the OpenAPI document of the whole API, as JSON. */
export const openApi = serviceKey<() => Promise<string>>('process.openApi')

/** Runs from the start where debugging is on; a profile of the heap starts it otherwise. */
export const heapSampler = serviceKey<HeapSampler>('process.heapSampler')
/** Readers of this process's log. */
export const monitors = serviceKey<Monitors>('process.monitors')
export const profiles = serviceKey<Profiles>('process.profiles')
