/**
 * A domain as one value: what its folder adds to the state machine, to what a process can be asked, and to what it does by
 * itself. A folder's `domain.ts` writes it down, `registry.ts` lists them in order, and `composeDomains` makes of the list
 * what a process runs. Nothing else knows which domains there are.
 */
import type { DescribedRoute } from '../api/route.ts'
import type { Domain as StateDomain } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Running } from '../lib/periodic.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Method } from '../rpc/method.ts'
import type { ServiceKey, Services } from '../rpc/services.ts'
import type { DutyContext } from './duty.ts'
import type { AnyTopic } from './events/topic.ts'
import type { LoginType } from './logins/mounted-routes.ts'
import type { NamespaceTenant } from './namespaces/tenant-model.ts'

/** What a service or a duty is made from, beside other services. */
export type DomainContext = {
  readonly clock: Clock
  readonly log: Logger
  /** Fails an assertion for a service of a later domain: those are not made yet. */
  readonly service: Services['get']
}

export type ServiceContext = DomainContext & {
  /** All domains of the process, for a service that serves them (topics, routes). */
  readonly domains: readonly Domain[]
}

/** What a process has one of, for as long as it lives. Made in the order of the registry. */
export type Service = {
  readonly provide: (services: Services, context: ServiceContext) => RunningService
}

export type RunningService = {
  /** Called in the order of the registry, before the process is asked anything. */
  readonly start: () => void | Promise<void>
  /** The configuration was read again: what of it may change while the process runs is to be taken anew. */
  readonly reload: () => void | Promise<void>
  /** The state was replaced as a whole. */
  readonly replaced: () => void
  /** Called in reverse, after the last request. */
  readonly stop: () => void | Promise<void>
}

/** What a domain tells of itself in numbers. */
export type Measured = {
  /** Declares families of metrics. */
  readonly declare?: (metrics: Metrics, service: Services['get']) => void
  /** What was refused because there was too much of it, by the value of the metric's label `limit`. */
  readonly refused?: (service: Services['get']) => Readonly<Record<string, number>>
}

/** What only the leader does by itself. Found anew in the state at each election and restore. */
export type Duty = {
  readonly name: string
  start(context: DutyContext & Pick<DomainContext, 'service'>): Running
}

export type Domain = Omit<Partial<StateDomain>, 'commands'> & {
  readonly name: string
  /** A function where they depend on what the other domains declare. */
  readonly commands?: Commands | ((domains: readonly Domain[]) => Commands)
  /** What of the domain lives in namespaces; they cannot go before it. */
  readonly tenant?: NamespaceTenant
  readonly services?: readonly Service[]
  readonly methods?: readonly Method[]
  readonly routes?: readonly DescribedRoute[]
  readonly topics?: readonly AnyTopic[]
  readonly duties?: readonly Duty[]
  /** Login methods. The domain serves their `routesAtFirstPath` too. */
  readonly loginTypes?: readonly LoginType[]
  readonly measured?: Measured
}

type Commands = StateDomain['commands']

export function defineDomain(domain: Domain): Domain {
  return domain
}

/** What is absent: there is nothing to do. */
export function defineService<Value>(
  key: ServiceKey<Value>,
  service: {
    readonly create: (context: ServiceContext) => Value
    readonly start?: (value: Value, context: ServiceContext) => void | Promise<void>
    readonly reload?: (value: Value, context: ServiceContext) => void | Promise<void>
    readonly replaced?: (value: Value) => void
    readonly stop?: (value: Value) => void | Promise<void>
  },
): Service {
  return {
    provide: (services, context) => {
      const value = service.create(context)
      services.provide(key, value)
      return {
        start: () => service.start?.(value, context),
        reload: () => service.reload?.(value, context),
        replaced: () => service.replaced?.(value),
        stop: () => service.stop?.(value),
      }
    },
  }
}

export type Composed = {
  readonly methods: readonly Method[]
  readonly routes: readonly DescribedRoute[]
  readonly duties: readonly Duty[]
  /** Starts the services. */
  start(): Promise<void>
  /** Lets them take what changed of the configuration. Rejects with the first that could not, once all were asked. */
  reload(): Promise<void>
  /** Tells them that the state was replaced. */
  replaced(): void
  /** Declares the domains' families of metrics. */
  measure(metrics: Metrics): void
  /** As `Measured.refused`, of all domains. */
  refused(): Readonly<Record<string, number>>
  /** Stops them in reverse; also what a failed `start` had not come to. */
  stop(): Promise<void>
}

/** `services` holds what the process itself provides, and gets what the domains do. */
export function composeDomains(
  domains: readonly Domain[],
  services: Services,
  { clock, log }: Pick<DomainContext, 'clock' | 'log'>,
): Composed {
  const context: ServiceContext = { clock, log, service: services.get, domains }
  const running = domains
    .flatMap((domain) => domain.services ?? [])
    .map((service) => service.provide(services, context))
  return {
    methods: domains.flatMap(({ methods = [] }) => methods),
    routes: domains.flatMap(({ routes = [] }) => routes),
    duties: domains.flatMap(({ duties = [] }) => duties),
    start: async () => {
      for (const service of running) await service.start()
    },
    reload: async () => {
      const ends = await Promise.allSettled(running.map(async (service) => service.reload()))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
    replaced: () => {
      for (const service of running) service.replaced()
    },
    measure: (metrics) => {
      for (const { measured } of domains) measured?.declare?.(metrics, services.get)
    },
    refused: () => {
      const counts = domains.map(({ measured }) => measured?.refused?.(services.get))
      return Object.assign({}, ...counts)
    },
    stop: async () => {
      for (const service of running.toReversed()) await service.stop()
    },
  }
}

/** What the state machine knows of them. */
export function stateDomains(domains: readonly Domain[]): readonly StateDomain[] {
  return domains
    .filter(({ tables, commands }) => tables !== undefined || commands !== undefined)
    .map(({ name, tables = [], commands = {}, reactions = [], seed = [] }) => ({
      name,
      tables,
      commands: typeof commands === 'function' ? commands(domains) : commands,
      reactions,
      seed,
    }))
}
