/**
 * The simulated world: servers, network, clients, faults and judges, built, wired and run in one place.
 */
import { present } from '../../src/lib/assert.ts'
import { MusterError, codeOf, type ErrorCode } from '../../src/lib/errors.ts'
import type { Random } from '../../src/lib/random.ts'
import type { Configuration, Message, ServerId } from '../../src/raft/core/message.ts'
import { between, happens, spread, streamOf } from './randomness.ts'
import { Judges } from './judges.ts'
import { Network } from './network.ts'
import type { MachineWatch } from './machine.ts'
import type { LogWatch } from './observed-log.ts'
import type { Plan } from './plan.ts'
import { Scheduler } from './scheduler.ts'
import { SimServer, type ServerWorld } from './server.ts'
import { Trace } from './trace.ts'
import type { Violation } from './checkers/rule.ts'

export type Reply<T> =
  | { readonly type: 'ok'; readonly value: T }
  | { readonly type: 'error'; readonly code: ErrorCode }
  /** The server crashed or did not answer in time. */
  | { readonly type: 'lost' }

export class World implements ServerWorld {
  readonly plan: Plan
  readonly scheduler = new Scheduler()
  readonly trace: Trace
  readonly network: Network
  readonly judges: Judges
  readonly servers = new Map<ServerId, SimServer>()
  readonly #random: Random
  readonly #ambushes: Random
  #ambushed = false
  #names = 0
  /** Somebody won an election. */
  onElected: () => void = () => undefined
  /** No more trouble. */
  healing = false
  /** Clients only read for now, so that nobody's log falls behind. */
  quiet = false
  /** It may lead no more and not know it: some readers go there. */
  suspect: ServerId | null = null
  violation: Violation | null = null
  /** What happened how often, for the coverage report. */
  readonly counts = new Map<string, number>()

  constructor(plan: Plan, sink: ((line: string) => void) | null) {
    this.plan = plan
    this.#random = streamOf(plan.seed, 'world')
    this.#ambushes = streamOf(plan.seed, 'ambushes')
    this.trace = new Trace(this.scheduler, sink)
    this.network = new Network(
      this.scheduler,
      streamOf(plan.seed, 'network'),
      this.trace,
      plan.weather,
    )
    this.judges = new Judges(this)
    this.network.onSend = (message: Message) => this.judges.sent(message)
    this.scheduler.afterEvent = () => this.judges.look()
  }

  /** The first servers, the first of which writes the configuration down. */
  begin(): void {
    const first = Array.from({ length: this.plan.servers }, () => this.addServer())
    const members = first.map(({ id }) => ({ ...memberOf(id), role: 'voter' as const }))
    const configuration: Configuration = { clusterId: `sim-${this.plan.seed}`, members }
    first[0]?.bootstraps(configuration)
    this.judges.bootstrapped(configuration)
    for (const server of first) server.start()
  }

  /** A server with an empty disk, not started yet. */
  addServer(): SimServer {
    this.#names += 1
    const id = `s${this.#names}`
    const server = new SimServer(id, this, streamOf(this.plan.seed, id))
    this.servers.set(id, server)
    return server
  }

  /** For good: its disk is gone as well. */
  destroy(server: SimServer): void {
    server.crash(true)
    this.servers.delete(server.id)
    this.trace.add(() => `${server.id} is thrown away`)
  }

  server(id: ServerId): SimServer {
    return present(this.servers.get(id), id)
  }

  get running(): SimServer[] {
    return [...this.servers.values()].filter((server) => server.running !== null)
  }

  /** Of the highest term among those that say so. */
  get leader(): SimServer | null {
    let leader: SimServer | null = null
    for (const server of this.servers.values()) {
      const status = server.status
      if (status?.role !== 'leader') continue
      if (status.term > (leader?.status?.term ?? 0)) leader = server
    }
    return leader
  }

  /** Somebody outside asks a server; the way there and back takes time, and the server may be gone meanwhile. */
  request<T>(
    server: SimServer,
    timeoutMs: number,
    work: (server: SimServer) => Promise<T>,
  ): Promise<Reply<T>> {
    const { scheduler } = this
    const travelMs = () => between(this.#random, 0.05, 1.5)
    return new Promise((resolve) => {
      let done = false
      const finish = (reply: Reply<T>) => {
        if (done) return
        done = true
        resolve(reply)
      }
      scheduler.after(timeoutMs, () => finish({ type: 'lost' }))
      scheduler.after(travelMs(), () => {
        const { running } = server
        if (running === null) {
          // Refused: nothing can have happened.
          scheduler.after(travelMs(), () => finish({ type: 'error', code: 'unavailable' }))
          return
        }
        const { life } = running
        // The connection breaks when the process ends.
        const watch = () => {
          if (done) return
          if (life.alive) scheduler.after(25, watch)
          else finish({ type: 'lost' })
        }
        watch()
        scheduler.enter(life, () => {
          const answer = (reply: Reply<T>) => {
            if (life.alive) scheduler.after(travelMs(), () => finish(reply))
          }
          work(server).then(
            (value) => answer({ type: 'ok', value }),
            (error: unknown) => {
              if (!(error instanceof MusterError)) {
                this.report({ rule: 'errors have a code', text: String(error) })
              }
              answer({ type: 'error', code: codeOf(error) })
            },
          )
        })
      })
    })
  }

  // --- what servers report ---

  /** The first broken rule ends the run. */
  readonly report = (violation: Violation): void => {
    if (this.violation !== null) return
    this.violation = violation
    this.trace.add(() => `VIOLATION ${violation.rule}: ${violation.text}`)
    this.scheduler.stop()
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  machineWatch(server: SimServer): MachineWatch {
    return this.judges.machineWatch(server)
  }

  logWatch(server: SimServer): LogWatch {
    return this.judges.logWatch(server)
  }

  /** Crashes at most one server at a time, at this very moment or a step or two later. */
  delicate(server: SimServer, moment: string): void {
    const { life } = server
    if (life === null || this.#ambushed || this.healing) return
    if (!happens(this.#ambushes, this.plan.ambushRate)) return
    this.#ambushed = true
    const delayMs = happens(this.#ambushes, 0.4) ? 0 : spread(this.#ambushes, 0.05, 20)
    this.scheduler.after(delayMs, () => {
      if (server.life === life) {
        this.trace.add(() => `${server.id} is caught at ${moment}`)
        this.count('ambushes')
        server.crash(happens(this.#ambushes, 0.75))
      }
      const downMs = spread(this.#ambushes, 1, this.plan.timing.electionMs * 4)
      this.scheduler.after(downMs, () => {
        this.#ambushed = false
        if (this.servers.get(server.id) === server) server.start()
      })
    })
  }

  died(server: SimServer): void {
    this.count('disk failures')
    const life = server.life
    // As an operator would: the machine is looked after and started again.
    this.scheduler.after(0, () => {
      if (server.life === life) server.crash(true)
    })
    this.scheduler.after(between(this.#random, 10, 500), () => {
      if (this.servers.get(server.id) === server) server.start()
    })
  }

  /** Random of a purpose of its own, from this run's seed. */
  stream(purpose: string): Random {
    return streamOf(this.plan.seed, purpose)
  }
}

export function memberOf(id: ServerId) {
  return { id, name: id, address: `${id}:1` }
}
