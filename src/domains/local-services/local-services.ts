/**
 * Services and checks of this agent: run here and told to the catalog. Those registered over HTTP are kept in the data
 * folder, durable before the answer; of those that configuration files define only the statuses are kept. Statuses are
 * written a little later.
 */
import type { Clock, Timer } from '../../lib/clock.ts'
import { refusalAsUnavailable } from '../../lib/disk-gate.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import {
  cutOutput,
  isReachable,
  keyOfName,
  sameRecord,
  type CheckSpec,
  type CheckStatus,
  type NodeSpec,
} from '../catalog/model.ts'
import { look } from './probes/probe.ts'
import {
  shownType,
  withRaisedTimes,
  type AgentService,
  type CheckDefinition,
} from './definition.ts'
import {
  definedByKey,
  noDefinitions,
  refuseDefinedScripts,
  refuseRegisteredScripts,
  type DefinedByKey,
  type Definitions,
  type InitialCheck,
  type ScriptChecks,
} from './definitions.ts'
import { Gate } from '../../lib/gate.ts'
import { maintenanceCheck } from './maintenance.ts'
import { RunningCheck, type CheckState } from './running-check.ts'
import { ServiceWaits } from './service-waits.ts'
import { ServiceStore } from './store.ts'
import { CatalogSync, type CatalogLink } from './sync.ts'
import type { TaskChecks } from './task-checks.ts'
import { unknownCheck, unknownService } from './unknown.ts'

export type { Definitions, InitialCheck } from './definitions.ts'

export const agentServicesMax = 4_096
export const agentChecksMax = 4_096
/** Looks of checks that run at one time. */
export const looksMax = 64
/** The same inside of tasks, so that commands of jobs that hang keep no other check waiting. */
export const taskLooksMax = 64
/** Statuses reach the data folder so much later at most. */
const saveDelayMs = 1_000
/** An answer waits so long at most for the catalog to have what it says. */
const settleMs = 1_000

export type LocalServicesOptions = {
  readonly node: NodeSpec
  readonly dataFolder: string
  readonly scripts: ScriptChecks
  readonly link: CatalogLink
  /** Absent: this agent runs no tasks. */
  readonly tasks?: TaskChecks
  readonly clock: Clock
  readonly log: Logger
}

export type AgentCheck = { readonly definition: CheckDefinition; readonly state: CheckState }

export class LocalServices {
  readonly node: NodeSpec
  readonly waits: ServiceWaits
  readonly #options: LocalServicesOptions
  readonly #store: ServiceStore
  readonly #sync: CatalogSync
  readonly #gate = new Gate(looksMax)
  readonly #taskGate = new Gate(taskLooksMax)
  readonly #services = new Map<string, AgentService>()
  readonly #checks = new Map<string, RunningCheck>()
  /** Which of them the configuration files define. */
  readonly #defined = { services: new Set<string>(), checks: new Set<string>() }
  #saving: Timer | null = null
  #started = false

  constructor(options: LocalServicesOptions) {
    const { node, link, clock, log } = options
    this.node = node
    this.waits = new ServiceWaits(clock)
    this.#options = options
    this.#store = new ServiceStore(options.dataFolder)
    this.#sync = new CatalogSync({ node, local: () => this.#local(), link, clock, log })
  }

  /**
   * Brings back what was registered before, beside what the configuration files define; of one id, the files' definition
   * counts. Throws `corrupt` or `incompatible` for the file of registrations, and `invalid_argument` for the definitions.
   */
  async start(definitions: Definitions = noDefinitions): Promise<void> {
    const { log } = this.#options
    const defined = this.#checkDefinitions(definitions)
    const kept = await this.#store.load()
    const known = new Map((kept.definedStatuses ?? []).map(({ id, ...state }) => [id, state]))
    for (const service of [...kept.services, ...defined.services.values()]) {
      if (!isReachable(service)) {
        log.warn('a service was left out: nobody reaches it at its address', {
          service: service.id,
          address: service.address,
        })
        continue
      }
      this.#services.set(service.id, service)
    }
    const registered = kept.checks.filter(({ definition: { id, serviceId, probe } }) => {
      if (defined.checks.has(keyOfName(id))) return false
      const isScript = probe.type === 'script' && this.#options.scripts !== 'all'
      const isLost = serviceId !== '' && !this.#services.has(serviceId)
      if (isScript) {
        log.warn('a check was left out: enable_script_checks is not set any more', { check: id })
      } else if (isLost) {
        log.warn('a check was left out: its service is not defined any more', { check: id })
      }
      return !isScript && !isLost
    })
    const checks = [
      ...registered.map(({ definition, ...state }) => ({ definition, state })),
      ...[...defined.checks.values()].map(({ definition, status }) => ({
        definition,
        state: known.get(definition.id) ?? { status: status ?? ('critical' as const), output: '' },
      })),
    ]
    for (const [position, { definition: given, state }] of checks.entries()) {
      const definition = this.#raised(given)
      const { probe } = definition
      // Spread over the interval, so that a restart does not start them all at once.
      const everyMs = 'intervalMs' in probe ? probe.intervalMs : 0
      this.#run(definition, state, (everyMs * position) / checks.length)
    }
    this.#setDefined(defined)
    this.#started = true
    this.#sync.start()
  }

  /**
   * What the configuration files define now: what they do not define any more goes, what stays keeps its status. Throws
   * `invalid_argument` for definitions that are wrong, and then nothing has changed.
   */
  async define(definitions: Definitions): Promise<void> {
    const next = this.#checkDefinitions(definitions)
    const { services, checks } = this.#defined
    const gone = new Set([...services].filter((id) => !next.services.has(id)))
    const outdated = new Set([...checks].filter((key) => !next.checks.has(key)))
    for (const id of gone) this.#services.delete(id)
    await this.#dropChecks(
      ({ serviceId }, key) => outdated.has(key) || (serviceId !== '' && gone.has(serviceId)),
    )
    this.#setDefined(next)
    for (const [id, service] of next.services) this.#services.set(id, service)
    for (const [key, { definition, status }] of next.checks) {
      const before = this.#checks.get(key)
      const isSame =
        before !== undefined && sameRecord(before.definition, withRaisedTimes(definition))
      await this.#setCheck({ definition, status: isSame ? null : status })
    }
    await this.#registered()
  }

  async stop(): Promise<void> {
    const wasStarted = this.#started
    this.#started = false
    this.waits.stop()
    await this.#sync.stop()
    await Promise.all([...this.#checks.values()].map((check) => check.stop()))
    this.#saving?.cancel()
    if (wasStarted && this.#saving !== null) await this.#save()
  }

  /** The catalog may have changed as a whole: what this agent has is compared with it now, not at the next round. */
  compare(): void {
    this.#sync.changed()
  }

  services(): readonly AgentService[] {
    return [...this.#services.values()]
  }

  service(id: string): AgentService | null {
    return this.#services.get(id) ?? null
  }

  checks(): readonly AgentCheck[] {
    return [...this.#checks.values()].map(({ definition, state }) => ({ definition, state }))
  }

  check(id: string): AgentCheck | null {
    return this.#checks.get(keyOfName(id)) ?? null
  }

  /** `statuses`: by position in `checks`, null for none given. With `replaces`, other checks of the service go. */
  async registerService(
    service: AgentService,
    checks: readonly InitialCheck[],
    replaces: boolean,
  ): Promise<void> {
    refuseRegisteredScripts(checks, this.#options.scripts)
    const newChecks = checks.filter(({ definition }) => this.check(definition.id) === null)
    this.#assertRoom(this.#services.has(service.id) ? 0 : 1, newChecks.length)
    this.#services.set(service.id, service)
    this.#defined.services.delete(service.id)
    if (replaces) {
      const kept = checks.map(({ definition }) => keyOfName(definition.id))
      await this.#dropChecks(
        ({ serviceId, probe }, key) =>
          serviceId === service.id && probe.type !== 'maintenance' && !kept.includes(key),
      )
    }
    for (const check of checks) {
      this.#defined.checks.delete(keyOfName(check.definition.id))
      await this.#setCheck(check)
    }
    await this.#registered()
  }

  /** Throws `not_found`. Its checks go with it. */
  async deregisterService(id: string): Promise<void> {
    if (!this.#services.delete(id)) throw unknownService(id)
    this.#defined.services.delete(id)
    await this.#dropChecks(({ serviceId }) => serviceId === id)
    await this.#registered()
  }

  /** Throws `invalid_argument` for a service that is not registered here. */
  async registerCheck(check: InitialCheck): Promise<void> {
    refuseRegisteredScripts([check], this.#options.scripts)
    const { id, serviceId } = check.definition
    if (serviceId !== '' && !this.#services.has(serviceId)) {
      throw new MusterError(
        'invalid_argument',
        `ServiceID ${JSON.stringify(serviceId)} does not exist: register the service with this agent first`,
      )
    }
    this.#assertRoom(0, this.check(id) === null ? 1 : 0)
    this.#defined.checks.delete(keyOfName(id))
    await this.#setCheck(check)
    await this.#registered()
  }

  /** Throws `not_found`. */
  async deregisterCheck(id: string): Promise<void> {
    if (!this.#checks.has(keyOfName(id))) throw unknownCheck(id)
    await this.#dropChecks((_check, key) => key === keyOfName(id))
    await this.#registered()
  }

  /** Of a service, or of the node for ''. What is so already changes nothing. Throws `not_found`. */
  async setMaintenance(serviceId: string, isOn: boolean, reason: string): Promise<void> {
    if (serviceId !== '' && !this.#services.has(serviceId)) throw unknownService(serviceId)
    const definition = maintenanceCheck(serviceId, reason)
    if (isOn) await this.registerCheck({ definition, status: 'critical' })
    else if (this.check(definition.id) !== null) await this.deregisterCheck(definition.id)
  }

  /** What the owner of a TTL check says. Throws `not_found`, and `invalid_argument` for a check that runs by itself. */
  async report(id: string, status: CheckStatus, output: string): Promise<void> {
    const check = this.#checks.get(keyOfName(id))
    if (check === undefined) throw unknownCheck(id)
    if (check.definition.probe.type !== 'ttl') {
      throw new MusterError(
        'invalid_argument',
        `check ${JSON.stringify(check.definition.id)} has no TTL: it runs by itself`,
      )
    }
    check.refresh(status, cutOutput(output))
    await this.#sync.settled(settleMs)
  }

  #raised(given: CheckDefinition): CheckDefinition {
    const definition = withRaisedTimes(given)
    if (definition !== given) {
      this.#options.log.warn('DeregisterCriticalServiceAfter of a check is raised to one minute', {
        check: given.id,
        givenMs: given.deregisterAfterMs,
      })
    }
    return definition
  }

  async #setCheck({ definition: given, status }: InitialCheck): Promise<void> {
    const key = keyOfName(given.id)
    const before = this.#checks.get(key)
    if (before !== undefined && status === null) {
      if (sameRecord(before.definition, withRaisedTimes(given))) return
    }
    const definition = this.#raised(given)
    if (before !== undefined) {
      this.#checks.delete(key)
      await before.stop()
    }
    // What is known of a check stands until its new definition has found something else.
    const state: CheckState = {
      status: status ?? before?.state.status ?? 'critical',
      output: before?.state.output ?? '',
    }
    this.#run(definition, state, 0)
  }

  #run(definition: CheckDefinition, state: CheckState, firstLookMs: number): void {
    const { clock, log, tasks } = this.#options
    const key = keyOfName(definition.id)
    const gate = definition.probe.type === 'task' ? this.#taskGate : this.#gate
    const check = new RunningCheck({
      definition,
      state,
      firstLookMs,
      clock,
      admit: (run) => gate.run(run),
      look: async (probe, signal) =>
        probe.type === 'task'
          ? ((await tasks?.look(definition.id, signal)) ?? null)
          : look(probe, signal),
      onLooked: (status) => tasks?.looked(definition.id, status),
      onState: (next, last) => this.#changed(definition, next, last),
      onOverdue: () => {
        const { serviceId, id } = definition
        log.warn('a service goes, for its check was critical for too long', { serviceId, id })
        this.deregisterService(serviceId).catch((error: unknown) => {
          log.warn('the service did not go', { serviceId, error: textOf(error) })
        })
      },
    })
    this.#checks.set(key, check)
  }

  #changed({ id, probe }: CheckDefinition, state: CheckState, before: CheckState): void {
    const isNews = state.status !== before.status || before.output === ''
    if (isNews) this.#options.log.debug('a check says', { check: id, status: state.status })
    // Of a check that runs, another output alone waits for the next round.
    if (isNews || !('intervalMs' in probe)) this.#sync.changed()
    if (this.#saving !== null || !this.#started) return
    this.#saving = this.#options.clock.setTimer(saveDelayMs, () => {
      this.#saving = null
      this.#save().catch((error: unknown) => {
        this.#options.log.warn('statuses of checks were not saved', { error: textOf(error) })
      })
    })
  }

  async #dropChecks(
    isDropped: (definition: CheckDefinition, key: string) => boolean,
  ): Promise<void> {
    const dropped = [...this.#checks].filter(([key, { definition }]) => isDropped(definition, key))
    for (const [key] of dropped) {
      this.#checks.delete(key)
      this.#defined.checks.delete(key)
    }
    await Promise.all(dropped.map(([, check]) => check.stop()))
  }

  async #registered(): Promise<void> {
    this.waits.wake()
    this.#sync.changed()
    await this.#save().catch((error: unknown) => {
      throw refusalAsUnavailable(error, 'agent')
    })
    await this.#sync.settled(settleMs)
  }

  #save(): Promise<void> {
    const { services, checks } = this.#defined
    const isDefined = ({ definition }: AgentCheck) => checks.has(keyOfName(definition.id))
    const all = this.checks()
    const definedStatuses = all
      .filter(isDefined)
      .map(({ definition, state }) => ({ id: definition.id, ...state }))
    return this.#store.save({
      services: this.services().filter(({ id }) => !services.has(id)),
      checks: all
        .filter((check) => !isDefined(check))
        .map(({ definition, state }) => ({ definition, ...state })),
      ...(definedStatuses.length > 0 && { definedStatuses }),
    })
  }

  #local() {
    return {
      services: this.services(),
      checks: this.checks().map(({ definition, state }) => catalogCheck(definition, state)),
    }
  }

  #checkDefinitions(definitions: Definitions): DefinedByKey {
    const defined = definedByKey(definitions)
    refuseDefinedScripts([...defined.checks.values()], this.#options.scripts)
    const { services, checks } = this.#defined
    const added = <T>(wanted: ReadonlyMap<string, T>, here: ReadonlyMap<string, unknown>) =>
      [...wanted.keys()].filter((key) => !here.has(key)).length
    const removed = <T>(wanted: ReadonlyMap<string, T>, before: ReadonlySet<string>) =>
      [...before].filter((key) => !wanted.has(key)).length
    this.#assertRoom(
      added(defined.services, this.#services) - removed(defined.services, services),
      added(defined.checks, this.#checks) - removed(defined.checks, checks),
    )
    return defined
  }

  #setDefined({ services, checks }: DefinedByKey): void {
    this.#defined.services = new Set(services.keys())
    this.#defined.checks = new Set(checks.keys())
  }

  #assertRoom(services: number, checks: number): void {
    if (this.#services.size + services > agentServicesMax) {
      throw new MusterError('overloaded', `an agent has at most ${agentServicesMax} services`)
    }
    if (this.#checks.size + checks > agentChecksMax) {
      throw new MusterError('overloaded', `an agent has at most ${agentChecksMax} checks`)
    }
  }
}

/** A check as the catalog has it. */
function catalogCheck(definition: CheckDefinition, { status, output }: CheckState): CheckSpec {
  const { id, name, notes, serviceId, probe } = definition
  return { id, name, status, notes, output, serviceId, type: shownType(probe), definition: '{}' }
}
