/** What methods, routes and duties of client nodes use besides the state. */
import type { Random } from '../../lib/random.ts'
import { serviceKey } from '../../rpc/services.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { HeartbeatSettings } from './heartbeat-times.ts'
import type { NodeAdmission } from './node-admission.ts'
import type { NodeWork } from './node-work.ts'
import type { NodeUplinks } from './uplinks.ts'

export type NodeSettings = { readonly heartbeats: HeartbeatSettings; readonly random: Random }

/** Provided by the server. */
export const nodeSettings = serviceKey<NodeSettings>('nodes.settings')
/** That this server holds. */
export const nodeUplinks = serviceKey<NodeUplinks>('nodes.uplinks')
/** Where reports go at the leader. */
export const nodeHeartbeats = serviceKey<Heartbeats>('nodes.heartbeats')
/** Provided by the domain of allocations. */
export const nodeWork = serviceKey<NodeWork>('nodes.work')
/** Of the leader. */
export const nodeAdmission = serviceKey<NodeAdmission>('nodes.admission')
