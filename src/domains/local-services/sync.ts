/**
 * Keeps this agent's node in the catalog as the agent has it, with all that is on it: compares both on every change and now
 * and then, and sends what differs. What is on the node and not with the agent goes; the membership check is the leader's.
 */
import { Type, type Static } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { delay, firstOf, nothing, Pause } from '../../lib/async.ts'
import { chunks } from '../../lib/chunks.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Propose } from '../../rpc/write.ts'
import { deregisterNode, registerNode, Deregistration, Registration } from '../catalog/commands.ts'
import {
  keyOfName,
  membershipCheckId,
  registeredChecksMax,
  sameRecord,
  type CheckRow,
  type CheckSpec,
  type NodeRow,
  type NodeSpec,
  type ServiceRow,
  type ServiceSpec,
} from '../catalog/model.ts'
import { checksOfNode, nodeOf, servicesOfNode } from '../catalog/queries.ts'
import { assertRegistered } from '../catalog/register-methods.ts'

/** Between two comparisons when nothing changed. */
const roundMs = 60_000
/** After a round that failed, twice as long each time; soon again where there was only nobody to ask. */
const backoffMs = { first: 250, max: 30_000, leaderlessMax: 2_000 }
/** Output alone that changes again is sent no more often than this; of a check whose owner reports, and of one that runs. */
const outputEveryMs = { reported: 1_000, run: 300_000 }

export const AgentUpdate = Type.Union([
  Type.Object({ type: Type.Literal('register'), registration: Registration }),
  Type.Object({ type: Type.Literal('deregister'), deregistration: Deregistration }),
])

export type AgentUpdate = Static<typeof AgentUpdate>

/** The way to the catalog; `server/catalog-link.ts` has its form. */
export interface CatalogLink {
  /** What the catalog has of a node, on a state that holds all that `send` has done. */
  held(node: string): Promise<HeldPart>
  /** Makes the node of this agent say this. Rejects when another living agent has its name. */
  announce(node: NodeSpec): Promise<void>
  /** Resolves once it is applied at the leader. */
  send(update: AgentUpdate): Promise<void>
}

/** The leader's side of `send`. The agent has checked the permission of the client that registered. */
export async function applyAgentUpdate(
  update: AgentUpdate,
  context: { readonly clock: Clock; propose: Propose },
): Promise<void> {
  const nowMs = Math.floor(context.clock.wallMs())
  if (update.type === 'deregister') {
    const args = { ...update.deregistration, nowMs }
    await context.propose(deregisterNode, args)
    return
  }
  const args = { ...update.registration, nowMs }
  const { outcome } = await context.propose(registerNode, args)
  assertRegistered(outcome, update.registration)
}

/** Without indexes, and checks without what they have of their service. */
export type HeldPart = {
  /** null: there is no such node. */
  readonly node: NodeSpec | null
  readonly services: ReadonlyMap<string, ServiceSpec>
  /** By `keyOfName` of their ids. */
  readonly checks: ReadonlyMap<string, CheckSpec>
}

export type LocalPart = {
  readonly services: readonly ServiceSpec[]
  readonly checks: readonly CheckSpec[]
}

export type CatalogSyncOptions = {
  readonly node: NodeSpec
  readonly local: () => LocalPart
  readonly link: CatalogLink
  readonly clock: Clock
  readonly log: Logger
}

export class CatalogSync {
  readonly #options: CatalogSyncOptions
  /** Changes so far, and how many of them the catalog has. */
  #changes = 1
  #synced = 0
  readonly #stopping = new AbortController()
  /** A change ends it. */
  readonly #pause: Pause
  readonly #waiting = new Set<{ readonly change: number; readonly done: () => void }>()
  /** When the output of a check was sent last, monotonic. */
  readonly #outputSent = new Map<string, number>()
  /** An output of a check that its owner reports waits for its time. */
  #held = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: CatalogSyncOptions) {
    this.#options = options
    this.#pause = new Pause(options.clock)
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  changed(): void {
    this.#changes += 1
    this.#pause.end()
  }

  /** Until the catalog has what is here now, or the time is up. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#synced >= this.#changes) return
    await firstOf({
      clock: this.#options.clock,
      ms: timeoutMs,
      signal: this.#stopping.signal,
      listen: (found) => {
        const waiting = { change: this.#changes, done: () => found() }
        this.#waiting.add(waiting)
        return () => this.#waiting.delete(waiting)
      },
      timeout: nothing,
      aborted: nothing,
    })
  }

  async #run(): Promise<void> {
    let failures = 0
    while (!this.#stopping.signal.aborted) {
      const change = this.#changes
      let pauseMs = roundMs
      try {
        await this.#round()
        failures = 0
        if (this.#held) pauseMs = outputEveryMs.reported
        this.#synced = change
        for (const waiting of this.#waiting) if (waiting.change <= change) waiting.done()
      } catch (error) {
        const isLeaderless = codeOf(error) === 'no_leader'
        const maxMs = isLeaderless ? backoffMs.leaderlessMax : backoffMs.max
        pauseMs = Math.min(backoffMs.first * 2 ** failures, maxMs)
        failures += 1
        const level = isLeaderless ? 'debug' : 'warn'
        this.#options.log[level]('this agent and its services are not in the catalog yet', {
          error: textOf(error),
          retryMs: pauseMs,
        })
      }
      // A change goes at once; what failed waits, or a dead cluster would be asked without end.
      if (failures > 0) await delay(this.#options.clock, pauseMs, this.#stopping.signal)
      else if (this.#changes === change) await this.#pause.wait(pauseMs, this.#stopping.signal)
    }
  }

  async #round(): Promise<void> {
    const { local } = this.#options
    this.#held = false
    const held = await this.#heldOfOwnNode()
    const { services: own, checks } = local()
    const services = own.map((service) => withHeldTags(service, held.services.get(service.id)))
    const wrongServices = services.filter((service) => {
      const known = held.services.get(service.id)
      return known === undefined || !sameRecord(known, service)
    })
    const wrongChecks = checks.filter((check) => this.#differs(held.checks, check))
    for (const service of wrongServices) {
      const ofService = wrongChecks.filter(({ serviceId }) => serviceId === service.id)
      await this.#register(service, ofService.slice(0, registeredChecksMax))
    }
    const rest = wrongChecks.filter(
      ({ serviceId }) => !wrongServices.some(({ id }) => id === serviceId),
    )
    const beyond = wrongServices.flatMap(({ id }) =>
      wrongChecks.filter(({ serviceId }) => serviceId === id).slice(registeredChecksMax),
    )
    for (const part of chunks([...rest, ...beyond], registeredChecksMax)) {
      await this.#register(null, part)
    }
    const serviceIds = new Set(services.map(({ id }) => id))
    for (const { id } of held.services.values()) {
      if (!serviceIds.has(id)) await this.#deregister(id, null)
    }
    const checkKeys = new Set([membershipCheckId, ...checks.map(({ id }) => id)].map(keyOfName))
    for (const [key, { id, serviceId }] of held.checks) {
      // A service took its checks along.
      const isGone = serviceId !== '' && !serviceIds.has(serviceId)
      if (!checkKeys.has(key) && !isGone) await this.#deregister(null, id)
    }
    for (const key of this.#outputSent.keys()) {
      if (!checkKeys.has(key)) this.#outputSent.delete(key)
    }
  }

  /** What is on a node of another agent is left alone. */
  async #heldOfOwnNode(): Promise<HeldPart> {
    const { node, link } = this.#options
    const held = await link.held(node.name)
    if (held.node !== null && sameRecord(held.node, { ...node, name: held.node.name })) return held
    await link.announce(node)
    const own = held.node?.id === node.id ? held : await link.held(node.name)
    const id = own.node?.id ?? node.id
    if (id === node.id) return own
    throw new MusterError(
      'conflict',
      `node ${node.name} has the id ${id}, this agent ${node.id}: another agent has its name, or had it a moment ago`,
    )
  }

  #differs(held: HeldPart['checks'], check: CheckSpec): boolean {
    const spec = held.get(keyOfName(check.id))
    if (spec === undefined) return true
    if (sameRecord(spec, check)) return false
    if (!sameRecord({ ...spec, output: '' }, { ...check, output: '' })) return true
    const sentMs = this.#outputSent.get(keyOfName(check.id)) ?? -Infinity
    const everyMs = check.type === 'ttl' ? outputEveryMs.reported : outputEveryMs.run
    const isDue = this.#options.clock.monotonicMs() - sentMs >= everyMs
    if (!isDue && check.type === 'ttl') this.#held = true
    return isDue
  }

  async #register(service: ServiceSpec | null, checks: readonly CheckSpec[]): Promise<void> {
    const { node, link, clock } = this.#options
    const registration: Registration = { node, skipNodeUpdate: true, service, checks }
    await link.send({ type: 'register', registration })
    // A check that has said nothing yet is not to wait with its first word.
    for (const { id, output } of checks) {
      if (output !== '') this.#outputSent.set(keyOfName(id), clock.monotonicMs())
    }
  }

  async #deregister(serviceId: string | null, checkId: string | null): Promise<void> {
    const { node, link } = this.#options
    const deregistration: Deregistration = { node: node.name, serviceId, checkId }
    await link.send({ type: 'deregister', deregistration })
  }
}

/** Where others may change the tags of a service in the catalog, those there stay. */
function withHeldTags(service: ServiceSpec, held: ServiceSpec | undefined): ServiceSpec {
  return service.enableTagOverride && held !== undefined ? { ...service, tags: held.tags } : service
}

export async function heldOf(reader: Reader, node: string): Promise<HeldPart> {
  const known = nodeOf(reader, node)
  const services = new Map<string, ServiceSpec>()
  const checks = new Map<string, CheckSpec>()
  for await (const page of servicesOfNode(reader, node)) {
    for (const row of page) services.set(row.id, serviceSpecOf(row))
  }
  for await (const page of checksOfNode(reader, node)) {
    for (const row of page) checks.set(keyOfName(row.id), checkSpecOf(row))
  }
  return { node: known === null ? null : nodeSpecOf(known), services, checks }
}

function nodeSpecOf(row: NodeRow): NodeSpec {
  const { createIndex: _created, modifyIndex: _modified, ...node } = row
  return node
}

function serviceSpecOf(row: ServiceRow): ServiceSpec {
  const { node: _node, createIndex: _created, modifyIndex: _modified, ...service } = row
  return service
}

function checkSpecOf(row: CheckRow): CheckSpec {
  const { node: _node, serviceName: _name, serviceTags: _tags, ...rest } = row
  const { createIndex: _created, modifyIndex: _modified, ...check } = rest
  return check
}
