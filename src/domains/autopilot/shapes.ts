/** What routes of autopilot take and answer. */
import { Type } from 'typebox'
import { count, GoDuration, indexes, Time } from '../../api/shape.ts'

const settings = {
  CleanupDeadServers: Type.Boolean({ description: 'Removes a failed server once it is replaced' }),
  LastContactThreshold: GoDuration,
  MaxTrailingLogs: count('A server that misses more entries is not healthy'),
  MinQuorum: count('Dead servers are not removed below so many voters'),
  ServerStabilizationTime: GoDuration,
  EnableRedundancyZones: Type.Literal(false),
  DisableUpgradeMigration: Type.Literal(false),
  EnableCustomUpgrades: Type.Literal(false),
}

export const AutopilotSettings = Type.Object(
  { ...settings, ...indexes },
  { title: 'AutopilotConfiguration' },
)

export const AutopilotBody = Type.Partial(Type.Object(settings))

export const ClusterHealth = Type.Object(
  {
    Healthy: Type.Boolean(),
    FailureTolerance: Type.Integer({ description: 'Servers that may fail' }),
    Leader: Type.String(),
    Voters: Type.Array(Type.String()),
    Servers: Type.Array(
      Type.Object({
        ID: Type.String(),
        Name: Type.String(),
        Address: Type.String(),
        SerfStatus: Type.String(),
        Version: Type.String(),
        Leader: Type.Boolean(),
        LastContact: GoDuration,
        LastTerm: Type.Integer(),
        LastIndex: Type.Integer(),
        Healthy: Type.Boolean(),
        Voter: Type.Boolean(),
        StableSince: Time,
      }),
    ),
  },
  { title: 'ClusterHealth' },
)
