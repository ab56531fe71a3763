/** What every agent serves of itself, server or client: its services and checks, its gossip, this process, its metrics. */
import { FilterCompiler, type Filter, type RecordShape } from '../api/filter.ts'
import type { Route } from '../api/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Method } from '../rpc/method.ts'
import { HeapSampler } from './agent/heap-sampler.ts'
import { agentMethods } from './agent/methods.ts'
import { agentRoutes } from './agent/routes.ts'
import type { ThisAgent } from './agent/this-agent.ts'
import { agentHealthMethods } from './catalog/agent-health-methods.ts'
import { agentHealthRoutes } from './catalog/agent-health-routes.ts'
import { agentCatalogMethods } from './catalog/agent-methods.ts'
import { agentCatalogRoutes } from './catalog/agent-routes.ts'
import { LocalAgent, type LocalAgentOptions } from './catalog/agent/local-agent.ts'
import { checkFields, serviceFields } from './catalog/shown.ts'
import { membersMethods } from './members/methods.ts'
import type { PoolOfServer } from './members/pool.ts'
import { membersRoutes } from './members/routes.ts'
import { metricsMethods, type MetricsSource } from './operator/metrics.ts'
import { metricsRoutes } from './operator/metrics-routes.ts'

export type AgentCatalogueOptions = {
  readonly agent: ThisAgent
  readonly members: PoolOfServer
  /** This agent's own part of the catalog. */
  readonly services: Omit<LocalAgentOptions, 'clock' | 'log'>
  readonly metrics: MetricsSource
  readonly clock: Clock
  readonly log: Logger
}

export type AgentCatalogue = {
  readonly methods: readonly Method[]
  readonly routes: readonly Route[]
  /** Started with the process and stopped with it. */
  readonly localAgent: LocalAgent
  /** Started first where debugging is on; a profile of the heap starts it otherwise. Stopped with the process. */
  readonly heapSampler: HeapSampler
}

export function buildAgentCatalogue(options: AgentCatalogueOptions): AgentCatalogue {
  const { agent, members, services, metrics, clock, log } = options
  const { datacenter } = members
  const localAgent = new LocalAgent({ ...services, clock, log: log.named('catalog') })
  const filters = { services: filterOf(serviceFields), checks: filterOf(checkFields) }
  const ofLocalAgent = agentCatalogMethods(localAgent, filters)
  const ofLocalHealth = agentHealthMethods(localAgent)
  const heapSampler = new HeapSampler(clock)
  const ofAgent = agentMethods(agent, clock, heapSampler)
  const ofMembers = membersMethods(members)
  const ofMetrics = metricsMethods(metrics)
  return {
    methods: [
      ...Object.values(ofLocalAgent),
      ...Object.values(ofLocalHealth),
      ...Object.values(ofMembers),
      ...Object.values(ofAgent),
      ...Object.values(ofMetrics),
    ],
    routes: [
      ...agentCatalogRoutes(ofLocalAgent, datacenter),
      ...agentHealthRoutes(ofLocalHealth, ofLocalAgent, datacenter),
      ...membersRoutes(ofMembers, datacenter),
      ...agentRoutes(ofAgent, clock, services.node.id),
      ...metricsRoutes(ofMetrics),
    ],
    localAgent,
    heapSampler,
  }
}

export function filterOf(fields: RecordShape): (source: string) => Filter | null {
  const compiler = new FilterCompiler(fields)
  return (source) => compiler.compile(source)
}
