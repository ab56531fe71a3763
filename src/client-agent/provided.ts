/** What a client agent provides to its domains. */
import { describesApi } from '../api/openapi.ts'
import { provideLocal } from '../domains/local-registry.ts'
import type { TaskChecks } from '../domains/local-services/task-checks.ts'
import type { AgentTasks } from '../domains/tasks/services.ts'
import { openApi } from '../domains/process/services.ts'
import type { GossipNode } from '../gossip/gossip.ts'
import { userEventPool } from '../gossip-pool/user-event-pool.ts'
import { nodeOfAgent } from '../runtime/agent-node.ts'
import type { Services } from '../rpc/services.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import type { Reloadable } from '../runtime/reload.ts'
import { ClientCatalogLink } from './catalog-link.ts'
import type { ClientConfig } from './client-config.ts'
import { clientProcessInfo } from './process-info.ts'
import type { ClientTelemetry } from './telemetry.ts'
import type { Ways } from './ways.ts'

export type ProvidedOptions = {
  readonly id: string
  readonly config: ClientConfig
  readonly dependencies: RuntimeDependencies
  readonly gossip: GossipNode
  readonly ways: Ways
  /** What is wrong with how servers are trusted; null: nothing. */
  readonly warning: string | null
  readonly reloadable: Reloadable
  readonly telemetry: ClientTelemetry
  readonly tasks: AgentTasks
  readonly checks: TaskChecks
  readonly liveCount: () => number
  /** See `UplinkKeeper.beat`. */
  readonly beat: () => { readonly ttlMs: number; readonly agoMs: number } | null
  /** Owns what is opened. */
  readonly opened: AsyncDisposableStack
}

export function provide(services: Services, options: ProvidedOptions): void {
  const { id, config, dependencies, gossip, ways, warning, reloadable, telemetry, opened } = options
  const { name, region, datacenter, dataDir } = config
  const { origin, logTap, reload } = dependencies
  const link = new ClientCatalogLink(ways.upstream, config.acl.agentToken)
  opened.defer(() => link.stop())
  const { servers } = ways
  provideLocal(services, {
    agent: clientProcessInfo({
      id,
      config,
      reloadable,
      origin,
      gossip,
      servers,
      beat: options.beat,
      liveCount: options.liveCount,
      warning,
      logTap,
      reload,
    }),
    members: { server: name, region, datacenter, pool: gossip },
    userEvents: userEventPool(gossip),
    definitions: reloadable.definitions,
    local: {
      node: nodeOfAgent(id, config, {
        version: origin.version,
        address: gossip.local().address,
        gossip: gossip.local().endpoint,
      }),
      dataFolder: dataDir,
      scripts: config.scriptChecks,
      link,
      tasks: options.checks,
    },
    metrics: telemetry,
    tasks: options.tasks,
  })
  // Servers answer for the rest, so the document tells of all; their domains are loaded for it alone.
  services.provide(
    openApi,
    describesApi(async () => {
      const { serverDomains } = await import('../domains/registry.ts')
      return serverDomains.flatMap(({ routes = [] }) => routes)
    }),
  )
}
