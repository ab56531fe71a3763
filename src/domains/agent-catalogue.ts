/** What every agent serves of itself, server or client: its services and checks, its gossip, this process, its metrics. */
import { inDatacenter } from '../api/datacenter.ts'
import { alsoByGet } from '../api/by-get.ts'
import { FilterCompiler, type Filter, type RecordShape } from '../rpc/filter/filter.ts'
import type { Route } from '../api/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Method } from '../rpc/method.ts'
import { HeapSampler } from './agent/heap-sampler.ts'
import { agentConsulRoutes } from './agent/consul-routes.ts'
import { agentMethods } from './agent/methods.ts'
import { Monitors } from './agent/monitor.ts'
import { agentRoutes } from './agent/routes.ts'
import type { AgentMember, ThisAgent } from './agent/this-agent.ts'
import { agentHealthMethods } from './catalog/agent-health-methods.ts'
import { agentHealthRoutes } from './catalog/agent-health-routes.ts'
import { agentCatalogMethods } from './catalog/agent-methods.ts'
import { agentCatalogRoutes } from './catalog/agent-routes.ts'
import { LocalAgent, type LocalAgentOptions } from './catalog/agent/local-agent.ts'
import { checkFields, serviceFields } from './catalog/shown.ts'
import { membersMethods } from './members/methods.ts'
import type { PoolOfServer } from './members/pool.ts'
import { coordinateMethods } from './members/coordinate-methods.ts'
import { coordinateRoutes } from './members/coordinate-routes.ts'
import { membersRoutes, memberForSessionTools } from './members/routes.ts'
import { metricsMethods, type MetricsSource } from './operator/metrics.ts'
import { metricsRoutes } from './operator/metrics-routes.ts'

import { userEventMethods } from './user-events/methods.ts'
import type { UserEventPool } from './user-events/pool.ts'
import { RecentEvents } from './user-events/recent-events.ts'
import { userEventRoutes } from './user-events/routes.ts'

/** What clients of Consul's early versions ask for with GET. */
const byGetToo: readonly string[] = [
  '/v1/agent/join/:address',
  '/v1/agent/force-leave/:node',
  '/v1/agent/service/deregister/:id',
  '/v1/agent/check/deregister/:id',
  '/v1/agent/check/pass/:id',
  '/v1/agent/check/warn/:id',
  '/v1/agent/check/fail/:id',
]

export type AgentCatalogueOptions = {
  readonly agent: ThisAgent
  readonly members: PoolOfServer
  /** Null: this agent takes part in no gossip. */
  readonly userEvents: UserEventPool | null
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
  /** Readers of this process's log. */
  readonly monitors: Monitors
  /** Stops listening to user events. */
  stopUserEvents(): void
}

export function buildAgentCatalogue(options: AgentCatalogueOptions): AgentCatalogue {
  const { agent, members, services, metrics, clock, log } = options
  const { datacenter } = members
  const localAgent = new LocalAgent({ ...services, clock, log: log.named('catalog') })
  const filters = { services: filterOf(serviceFields), checks: filterOf(checkFields) }
  const ofLocalAgent = agentCatalogMethods(localAgent, filters)
  const ofLocalHealth = agentHealthMethods(localAgent)
  const heapSampler = new HeapSampler(clock)
  const monitors = new Monitors(agent.log, clock, agent.member().name)
  const ofAgent = agentMethods(agent, clock, { heap: heapSampler, monitors })
  const ofMembers = membersMethods(members)
  const ofMetrics = metricsMethods(metrics)
  const ofCoordinates = coordinateMethods(members, clock)
  const recentEvents = new RecentEvents(
    {
      node: services.node.name,
      services: () => localAgent.services(),
    },
    log.named('events'),
  )
  const ofUserEvents = userEventMethods(options.userEvents, recentEvents, clock)
  const stopUserEvents = options.userEvents?.onEvent((event) => recentEvents.heard(event))
  const routes: readonly Route[] = [
    ...agentCatalogRoutes(ofLocalAgent, datacenter),
    ...agentHealthRoutes(ofLocalHealth, ofLocalAgent, datacenter),
    ...membersRoutes(ofMembers, datacenter),
    ...inDatacenter(datacenter, coordinateRoutes(ofCoordinates)),
    ...inDatacenter(datacenter, userEventRoutes(ofUserEvents)),
    ...agentRoutes(ofAgent, clock, services.node.id),
    ...metricsRoutes(ofMetrics),
    ...agentConsulRoutes(ofAgent, shownInConsul),
  ]
  return {
    methods: [
      ...Object.values(ofCoordinates),
      ...Object.values(ofUserEvents),
      ...Object.values(ofLocalAgent),
      ...Object.values(ofLocalHealth),
      ...Object.values(ofMembers),
      ...Object.values(ofAgent),
      ...Object.values(ofMetrics),
    ],
    routes: [
      ...routes,
      ...alsoByGet(
        routes.filter(({ method, path }) => method === 'PUT' && byGetToo.includes(path)),
      ),
    ],
    localAgent,
    heapSampler,
    monitors,
    stopUserEvents: () => stopUserEvents?.(),
  }
}

export function filterOf(fields: RecordShape): (source: string) => Filter | null {
  const compiler = new FilterCompiler(fields)
  return (source) => compiler.compile(source)
}

function shownInConsul({ protocol, delegate, ...member }: AgentMember, name: string): unknown {
  const versions = {
    protocolMin: protocol.min,
    protocolMax: protocol.max,
    protocolCurrent: protocol.current,
    delegateMin: delegate.min,
    delegateMax: delegate.max,
    delegateCurrent: delegate.current,
  }
  const tags = new Map(Object.entries(member.tags))
  return memberForSessionTools({ ...member, tags, versions }, name)
}
