/** What every agent serves of itself, server or client: its services and checks, its gossip, this process, its metrics. */
import { site, type Site } from '../api/site.ts'
import type { Services } from '../rpc/services.ts'
import { processDomain } from './process/domain.ts'
import { processInfo } from './process/services.ts'
import type { ProcessInfo } from './process/process-info.ts'
import type { Definitions } from './local-services/definitions.ts'
import type { LocalServicesOptions } from './local-services/local-services.ts'
import { localServicesDomain } from './local-services/domain.ts'
import { localNode } from './local-services/services.ts'
import type { Domain } from './domain.ts'
import { membersDomain } from './members/domain.ts'
import type { PoolOfServer } from './members/pool.ts'
import { gossipPool } from './members/services.ts'
import { metricsDomain } from './operator/metrics-domain.ts'
import { metricsSource, type MetricsSource } from './operator/services.ts'
import { tasksDomain } from './tasks/domain.ts'
import { agentTasks, type AgentTasks } from './tasks/services.ts'
import { userEventsDomain } from './user-events/domain.ts'
import type { UserEventPool } from './user-events/pool.ts'
import { userEventPool } from './user-events/services.ts'

/** In order. */
export const localDomains: readonly Domain[] = [
  localServicesDomain,
  membersDomain,
  userEventsDomain,
  processDomain,
  metricsDomain,
  tasksDomain,
]

export type LocalParts = {
  readonly agent: ProcessInfo
  readonly members: PoolOfServer
  /** Null: this agent takes part in no gossip. */
  readonly userEvents: UserEventPool | null
  /** This agent's own part of the catalog. */
  readonly local: Omit<LocalServicesOptions, 'clock' | 'log'>
  readonly definitions: () => Definitions
  readonly metrics: MetricsSource
  /** Null: this agent runs none. */
  readonly tasks: AgentTasks | null
}

/** What the domains of every agent need of their process. */
export function provideLocal(services: Services, parts: LocalParts): void {
  const { agent, members, userEvents, local, definitions, metrics, tasks } = parts
  const { server: name, region, datacenter } = members
  const own: Site = { name, region, datacenter, nodeId: local.node.id }
  services.provide(site, own)
  services.provide(processInfo, agent)
  services.provide(gossipPool, members)
  services.provide(userEventPool, userEvents)
  services.provide(localNode, { ...local, definitions })
  services.provide(metricsSource, metrics)
  services.provide(agentTasks, tasks)
}
