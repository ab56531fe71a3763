/** How the leader looks after the servers of its cluster: replicated, so that the next leader does the same. */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { checkBounds } from '../../lib/bounds.ts'

/** Times in milliseconds. */
export const AutopilotConfig = Type.Object({
  /** A failed server is removed once another has taken its place. */
  cleanupDeadServers: Type.Boolean(),
  /** Beyond a heartbeat: who was not heard of for longer is not healthy. */
  lastContactMs: Count,
  /** Who misses more entries is not healthy. */
  trailingLogsMax: Count,
  /** Dead servers are not removed below so many voters; 0: the quorum alone decides. */
  quorumMin: Count,
  /** So long a new server is healthy before it becomes a voter. */
  stabilizationMs: Count,
})
export type AutopilotConfig = Readonly<Static<typeof AutopilotConfig>>

export const AutopilotRow = record({ ...AutopilotConfig.properties, ...indexes })
export type AutopilotRow = Readonly<Static<typeof AutopilotRow>>

export const defaultAutopilot: AutopilotConfig = {
  cleanupDeadServers: true,
  lastContactMs: 200,
  trailingLogsMax: 250,
  quorumMin: 0,
  stabilizationMs: 10_000,
}

const durationMsMax = 24 * 60 * 60_000
const quorumMax = 99
const trailingMax = 1e9

/** Throws `invalid_argument`. */
export function checkAutopilot(config: AutopilotConfig): AutopilotConfig {
  checkBounds([
    ['LastContactThreshold', config.lastContactMs, 1, durationMsMax, 'a duration of 1ms to 24h'],
    ['ServerStabilizationTime', config.stabilizationMs, 0, durationMsMax, 'a duration up to 24h'],
    ['MaxTrailingLogs', config.trailingLogsMax, 0, trailingMax, 'a number from 0 to 1e9'],
    ['MinQuorum', config.quorumMin, 0, quorumMax, `a number from 0 to ${quorumMax}`],
  ])
  return config
}
