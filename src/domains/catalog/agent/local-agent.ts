/**
 * Services and checks registered with this agent: run here, kept in the data folder, and told to the catalog. What was
 * registered is durable before it is answered; statuses are written a little later.
 */
import type { Clock, Timer } from '../../../lib/clock.ts'
import { MusterError, textOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import {
  cutOutput,
  keyOfName,
  membershipCheckId,
  sameRecord,
  type CheckSpec,
  type CheckStatus,
  type NodeSpec,
} from '../model.ts'
import { look } from '../probes/probe.ts'
import type { AgentService, CheckDefinition } from './definition.ts'
import { Gate } from './gate.ts'
import { maintenanceCheck } from './maintenance.ts'
import { RunningCheck, type CheckState } from './running-check.ts'
import { ServiceStore } from './store.ts'
import { CatalogSync, type CatalogLink } from './sync.ts'

export const agentServicesMax = 4_096
export const agentChecksMax = 4_096
/** Looks of checks that run at one time. */
export const looksMax = 64
/** Statuses reach the data folder so much later at most. */
const saveDelayMs = 1_000
/** An answer waits so long at most for the catalog to have what it says. */
const settleMs = 1_000

export type LocalAgentOptions = {
  readonly node: NodeSpec
  readonly dataFolder: string
  readonly allowScripts: boolean
  readonly link: CatalogLink
  readonly clock: Clock
  readonly log: Logger
}

export type AgentCheck = { readonly definition: CheckDefinition; readonly state: CheckState }

export class LocalAgent {
  readonly node: NodeSpec
  readonly #options: LocalAgentOptions
  readonly #store: ServiceStore
  readonly #sync: CatalogSync
  readonly #gate = new Gate(looksMax)
  readonly #services = new Map<string, AgentService>()
  readonly #checks = new Map<string, RunningCheck>()
  #saving: Timer | null = null
  #started = false

  constructor(options: LocalAgentOptions) {
    const { node, link, clock, log } = options
    this.node = node
    this.#options = options
    this.#store = new ServiceStore(options.dataFolder)
    this.#sync = new CatalogSync({ node, local: () => this.#local(), link, clock, log })
  }

  /** Brings back what was registered before. Throws `corrupt` or `incompatible` for its file. */
  async start(): Promise<void> {
    const { services, checks } = await this.#store.load()
    for (const service of services) this.#services.set(service.id, service)
    for (const [position, { definition, ...state }] of checks.entries()) {
      const { probe } = definition
      if (probe.type === 'script' && !this.#options.allowScripts) {
        this.#options.log.warn('a check was left out: scripts are not enabled any more', {
          check: definition.id,
        })
        continue
      }
      // Spread over the interval, so that a restart does not start them all at once.
      const everyMs = 'intervalMs' in probe ? probe.intervalMs : 0
      this.#run(definition, state, (everyMs * position) / checks.length)
    }
    this.#started = true
    this.#sync.start()
  }

  async stop(): Promise<void> {
    const wasStarted = this.#started
    this.#started = false
    await this.#sync.stop()
    await Promise.all([...this.#checks.values()].map((check) => check.stop()))
    this.#saving?.cancel()
    if (wasStarted && this.#saving !== null) await this.#save()
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
    this.#assertScripts(checks)
    const newChecks = checks.filter(({ definition }) => this.check(definition.id) === null)
    this.#assertRoom(this.#services.has(service.id) ? 0 : 1, newChecks.length)
    this.#services.set(service.id, service)
    if (replaces) {
      const kept = checks.map(({ definition }) => keyOfName(definition.id))
      await this.#dropChecks(
        ({ serviceId, probe }, key) =>
          serviceId === service.id && probe.type !== 'maintenance' && !kept.includes(key),
      )
    }
    for (const check of checks) await this.#setCheck(check)
    await this.#registered()
  }

  /** Throws `not_found`. Its checks go with it. */
  async deregisterService(id: string): Promise<void> {
    if (!this.#services.delete(id)) throw unknownService(id)
    await this.#dropChecks(({ serviceId }) => serviceId === id)
    await this.#registered()
  }

  /** Throws `invalid_argument` for a service that is not registered here. */
  async registerCheck(check: InitialCheck): Promise<void> {
    this.#assertScripts([check])
    const { id, serviceId } = check.definition
    if (serviceId !== '' && !this.#services.has(serviceId)) {
      throw new MusterError(
        'invalid_argument',
        `ServiceID ${JSON.stringify(serviceId)} does not exist: register the service with this agent first`,
      )
    }
    this.#assertRoom(0, this.check(id) === null ? 1 : 0)
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

  async #setCheck({ definition, status }: InitialCheck): Promise<void> {
    const key = keyOfName(definition.id)
    const before = this.#checks.get(key)
    if (before !== undefined) {
      if (status === null && sameRecord(before.definition, definition)) return
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
    const { clock, log } = this.#options
    const key = keyOfName(definition.id)
    const check = new RunningCheck({
      definition,
      state,
      firstLookMs,
      clock,
      admit: (run) => this.#gate.run(run),
      look,
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
    for (const [key] of dropped) this.#checks.delete(key)
    await Promise.all(dropped.map(([, check]) => check.stop()))
  }

  async #registered(): Promise<void> {
    this.#sync.changed()
    await this.#save()
    await this.#sync.settled(settleMs)
  }

  #save(): Promise<void> {
    const checks = this.checks().map(({ definition, state }) => ({ definition, ...state }))
    return this.#store.save({ services: this.services(), checks })
  }

  #local() {
    return {
      services: this.services(),
      checks: this.checks().map(({ definition, state }) => catalogCheck(definition, state)),
    }
  }

  #assertScripts(checks: readonly InitialCheck[]): void {
    const script = checks.find(({ definition }) => definition.probe.type === 'script')
    if (script === undefined || this.#options.allowScripts) return
    throw new MusterError(
      'invalid_argument',
      `check ${JSON.stringify(script.definition.id)} runs a script: scripts are off, set enable_local_script_checks in the configuration of this agent to allow them`,
    )
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

/** `status`: what it is until it is known; null: what it was, or critical. */
export type InitialCheck = {
  readonly definition: CheckDefinition
  readonly status: CheckStatus | null
}

/** A check as the catalog has it. */
function catalogCheck(definition: CheckDefinition, { status, output }: CheckState): CheckSpec {
  const { id, name, notes, serviceId, probe } = definition
  return { id, name, status, notes, output, serviceId, type: probe.type, definition: '{}' }
}

function unknownService(id: string): MusterError {
  return new MusterError('not_found', `Unknown service ID ${JSON.stringify(id.slice(0, 256))}`)
}

function unknownCheck(id: string): MusterError {
  const text = JSON.stringify(id.slice(0, 256))
  return new MusterError(
    'not_found',
    keyOfName(id) === keyOfName(membershipCheckId)
      ? `Unknown check ID ${text}: the leader keeps that one`
      : `Unknown check ID ${text}: it must be registered with this agent`,
  )
}
