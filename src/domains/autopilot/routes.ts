/** `/v1/operator/autopilot/configuration` and `/v1/operator/autopilot/health`. */
import type { Fields } from '../../api/fields.ts'
import { type DescribedRoute, smallBodyBytesMax } from '../../api/route.ts'
import { blocking, count as unsigned, flag, jsonType, ok, optionally } from '../../api/shape.ts'
import { dateText } from '../../lib/date-text.ts'
import { formatDurationMs } from '../../lib/duration.ts'
import { MusterError } from '../../lib/errors.ts'
import { autopilotMethods } from './methods.ts'
import { defaultAutopilot, type AutopilotConfig, type AutopilotRow } from './model.ts'
import type { ServerHealth } from './services.ts'
import { AutopilotBody, AutopilotSettings, ClusterHealth } from './shapes.ts'

/** What Consul Enterprise and Nomad Enterprise have: it may be sent as false and is always false. */
const absentFeatures = [
  'EnableRedundancyZones',
  'DisableUpgradeMigration',
  'EnableCustomUpgrades',
] as const

export const autopilotRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/operator/autopilot/configuration',
    summary: 'Settings of autopilot',
    permission: 'operator:read',
    query: blocking,
    reply: ok(AutopilotSettings),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(autopilotMethods.read, {})
      return { json: shownConfig(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/autopilot/configuration',
    summary: 'Set all settings of autopilot',
    permission: 'operator:write',
    query: optionally({ cas: unsigned('ModifyIndex that the settings must have') }),
    bodySchema: AutopilotBody,
    reply: ok(flag('False: `cas` does not hold')),
    example: { body: { CleanupDeadServers: true, LastContactThreshold: '500ms' } },
    bodyBytesMax: smallBodyBytesMax,
    handle: async (request) => {
      const config = configOf(request.fields())
      const cas = request.search.unsigned('cas')
      const { changed, row } = await request.call(autopilotMethods.set, {
        config,
        cas: cas === null ? null : Number(cas),
      })
      // As in Consul and Nomad: a cas that does not hold is an answer, not an error.
      return { json: changed, index: Math.max(1, row.modifyIndex) }
    },
  },
  {
    method: 'GET',
    path: '/v1/operator/autopilot/health',
    summary: 'Health of the servers',
    permission: 'operator:read',
    reply: { 200: { [jsonType]: ClusterHealth }, 429: { [jsonType]: ClusterHealth } },
    example: {},
    handle: async (request) => {
      const { healthy, failureTolerance, servers } = await request.call(autopilotMethods.check, {})
      return {
        status: healthy ? 200 : 429,
        json: {
          Healthy: healthy,
          FailureTolerance: failureTolerance,
          Leader: servers.find(({ isLeader }) => isLeader)?.id ?? '',
          Voters: servers.filter(({ isVoter }) => isVoter).map(({ id }) => id),
          Servers: servers.map(shownServer),
        },
      }
    },
  },
]

/** What is not sent has its default: the request is the whole configuration. */
function configOf(fields: Fields): AutopilotConfig {
  for (const name of absentFeatures) {
    if (fields.boolean(name) !== true) continue
    throw new MusterError('not_implemented', `${name} is not part of this program: leave it false`)
  }
  return {
    cleanupDeadServers: fields.boolean('CleanupDeadServers') ?? defaultAutopilot.cleanupDeadServers,
    lastContactMs:
      whole(fields.durationMs('LastContactThreshold')) ?? defaultAutopilot.lastContactMs,
    trailingLogsMax: fields.count('MaxTrailingLogs') ?? defaultAutopilot.trailingLogsMax,
    quorumMin: fields.count('MinQuorum') ?? defaultAutopilot.quorumMin,
    stabilizationMs:
      whole(fields.durationMs('ServerStabilizationTime')) ?? defaultAutopilot.stabilizationMs,
  }
}

function whole(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.max(0, Math.round(ms))
}

function shownConfig(row: AutopilotRow) {
  return {
    CleanupDeadServers: row.cleanupDeadServers,
    LastContactThreshold: formatDurationMs(row.lastContactMs),
    MaxTrailingLogs: row.trailingLogsMax,
    MinQuorum: row.quorumMin,
    ServerStabilizationTime: formatDurationMs(row.stabilizationMs),
    ...Object.fromEntries(absentFeatures.map((name) => [name, false])),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

function shownServer(server: ServerHealth) {
  const { lastContactMs } = server
  return {
    ID: server.id,
    Name: server.name,
    Address: server.address,
    SerfStatus: server.gossipStatus,
    Version: server.version,
    Leader: server.isLeader,
    // Below zero: never yet. Consul's and Nomad's tools read a duration here, nothing else.
    LastContact: formatDurationMs(lastContactMs === null ? -1 : Math.round(lastContactMs)),
    LastTerm: server.lastTerm,
    LastIndex: server.lastIndex,
    Healthy: server.healthy,
    Voter: server.isVoter,
    StableSince: dateText(server.stableSinceMs),
  }
}
