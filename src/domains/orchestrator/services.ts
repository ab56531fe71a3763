/** What logins of the orchestrator method use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { KeyCache } from './keys.ts'
import type { PodFiles } from './pod-files.ts'
import type { ReviewClients } from './review-client.ts'

/** Connections to API servers. */
export const reviewClients = serviceKey<ReviewClients>('orchestrator.reviewClients')

/** Of the pod that this process may run in. */
export const podFiles = serviceKey<PodFiles>('orchestrator.podFiles')

/** Parsed keys of configurations. */
export const parsedKeys = serviceKey<KeyCache>('orchestrator.keys')
