/** What a server provides to its domains. */
import { describesApi } from '../api/openapi.ts'
import type { Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Provided, Services } from '../rpc/services.ts'
import { composed } from './acl/explain-routes.ts'
import { aclSettings } from './acl/services.ts'
import { provideLocal, type LocalParts } from './local-registry.ts'
import { clusterHealth, type ClusterHealth } from './autopilot/services.ts'
import type { KnownNodes } from './catalog/duties.ts'
import { knownNodes } from './catalog/services.ts'
import { composeDomains, type Composed, type Domain } from './domain.ts'
import type { ChangeSource, EventBufferLimits } from './events/buffer.ts'
import { bufferLimits, changeSource } from './events/services.ts'
import {
  openView,
  readBarrier,
  stateReader,
  watchedState,
  type OpenView,
  type ReadBarrier,
} from './host.ts'
import type { RaftControl } from './operator/raft.ts'
import type { SnapshotSchedule } from './operator/scheduled-snapshots.ts'
import { archiving, raftControl, thisServer, type RowSource } from './operator/services.ts'
import { nodeSettings, type NodeSettings } from './nodes/services.ts'
import { openApi } from './process/services.ts'
import type { AppliedSource } from './sessions/deadlines.ts'
import { appliedCommands } from './sessions/services.ts'
import type { ClusterKeyLink } from './variables/cluster-key-share.ts'
import { workerSettings } from './scheduling/services.ts'
import type { ClusterKeys } from './variables/cluster-key.ts'
import { clusterKeyLink, clusterKeys } from './variables/services.ts'

export type ServerParts = Omit<LocalParts, 'tasks'> & {
  readonly acl: Provided<typeof aclSettings>
  readonly clusterKeys: ClusterKeys
  readonly raft: RaftControl
  readonly link: ClusterKeyLink
  /** `machine.view` and `machine.exportRows` */
  readonly view: OpenView
  readonly exportRows: () => RowSource
  /** The machine. */
  readonly state: Provided<typeof watchedState>
  /** `machine.commandVersion` */
  readonly commandVersion: () => number
  /** For archives on their way in. */
  readonly restoreFolder: string
  /** Null: none but those that clients ask for. */
  readonly snapshotSchedule: SnapshotSchedule | null
  /** `machine.reader()` */
  readonly reader: Reader
  readonly readBarrier: ReadBarrier
  /** Of the servers, at the leader. */
  readonly health: () => ClusterHealth
  /** Whose nodes the leader keeps in the catalog. */
  readonly agents: KnownNodes
  /** How client nodes say that they live. */
  readonly nodes: NodeSettings
  /** What is applied here, for those who keep time by it. */
  readonly applied: AppliedSource & ChangeSource
  readonly events: EventBufferLimits
  readonly clock: Clock
  readonly log: Logger
}

/** `domains`: those of the registry, or fewer. `services` gets what they and the server provide. */
export function composeServer(
  domains: readonly Domain[],
  services: Services,
  parts: ServerParts,
): Composed {
  const { clock, log } = parts
  provideLocal(services, { ...parts, tasks: null })
  services.provide(openView, parts.view)
  services.provide(watchedState, parts.state)
  services.provide(stateReader, parts.reader)
  services.provide(readBarrier, parts.readBarrier)
  services.provide(clusterKeys, parts.clusterKeys)
  services.provide(clusterKeyLink, parts.link)
  services.provide(raftControl, parts.raft)
  services.provide(archiving, {
    exportRows: parts.exportRows,
    commandVersion: parts.commandVersion,
    wallMs: () => clock.wallMs(),
    folder: parts.restoreFolder,
    schedule: parts.snapshotSchedule,
  })
  services.provide(thisServer, {
    version: () => parts.agent.member().tags['build'] ?? '',
    leads: () => parts.agent.leads(),
  })
  services.provide(clusterHealth, parts.health)
  services.provide(knownNodes, parts.agents)
  services.provide(appliedCommands, parts.applied)
  services.provide(nodeSettings, parts.nodes)
  services.provide(workerSettings, {
    count: parts.agent.schedulers?.count ?? null,
    enabled: parts.agent.schedulers?.enabled ?? null,
    leads: () => parts.agent.leads(),
  })
  services.provide(changeSource, parts.applied)
  services.provide(bufferLimits, parts.events)
  services.provide(aclSettings, parts.acl)
  const made = composeDomains(domains, services, { clock, log })
  services.provide(composed, made)
  services.provide(
    openApi,
    describesApi(async () => made.routes),
  )
  return made
}
