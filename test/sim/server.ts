/**
 * One simulated server: a disk that lasts, and on it one life after another, each with the production node.
 */
import { MusterError, textOf } from '../../src/lib/errors.ts'
import { DiskGate, isRefusal } from '../../src/lib/disk-gate.ts'
import { silentLogger, type Logger } from '../../src/lib/log.ts'
import type { Random } from '../../src/lib/random.ts'
import type { Configuration, LogIndex, ServerId } from '../../src/raft/core/message.ts'
import type { RaftStatus, RaftTiming } from '../../src/raft/raft.ts'
import { forgetfulText } from '../../src/raft/core/ready.ts'
import { RaftNode } from '../../src/raft/node.ts'
import { openDurableLog } from '../../src/raft/storage/durable-log.ts'
import { SentWrites } from '../../src/rpc/sent-writes.ts'
import { between, happens, integer } from './randomness.ts'
import type { Report } from './checkers/rule.ts'
import { SimDisk, type Refusal } from './disk.ts'
import { MachineDisk, SimMachine, type MachineWatch } from './machine.ts'
import { mortalDisk, type MortalDisk } from './mortal-disk.ts'
import type { Network } from './network.ts'
import { LogImage, ObservedLog, type LogWatch } from './observed-log.ts'
import type { Plan } from './plan.ts'
import { Life, type Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'
import { SimTransport } from './transport.ts'

export type ServerWorld = {
  readonly plan: Plan
  readonly scheduler: Scheduler
  readonly network: Network
  readonly trace: Trace
  readonly report: Report
  machineWatch(server: SimServer): MachineWatch
  logWatch(server: SimServer): LogWatch
  /** A moment at which a crash is hard to bear; there may be one. */
  delicate(server: SimServer, moment: string): void
  /** The node gave up after a disk error that was planted. */
  died(server: SimServer): void
}

/** What runs between a start and a crash. */
type Running = {
  readonly life: Life
  readonly node: RaftNode
  readonly machine: SimMachine
  readonly sent: SentWrites
  readonly log: ObservedLog
  readonly disk: MortalDisk
}

export class SimServer {
  readonly id: ServerId
  readonly #world: ServerWorld
  readonly #random: Random
  readonly #disk: SimDisk
  readonly #machineDisk: MachineDisk
  readonly #diskDelay: { lowMs: number; highMs: number }
  readonly #timing: RaftTiming
  #lives = 0
  #bootstrap: Configuration | null = null
  #life: Life | null = null
  #running: Running | null = null
  #stopping: Running | null = null
  image = new LogImage()
  /** A planted disk error has not shown yet. */
  #mayDie = false
  /** Whether the state on disk keeps a floor: applied entries up to here must be found again. */
  #flooredAt: LogIndex = 0

  constructor(id: ServerId, world: ServerWorld, random: Random) {
    this.id = id
    this.#world = world
    this.#random = random
    const { diskMs, durability, timing, unevenness } = world.plan
    this.#timing = unevenness === 1 ? timing : stretched(timing, between(random, 1, unevenness))
    this.#diskDelay = { lowMs: 0, highMs: diskMs }
    this.#disk = new SimDisk({ path: `/${id}`, random, delay: this.#diskDelay })
    this.#machineDisk = new MachineDisk(durability)
    this.#disk.onOperation = ({ type }) => {
      if (['create', 'rename', 'remove', 'syncFolder'].includes(type)) world.delicate(this, type)
    }
  }

  /** This server writes down the first configuration, if its log is empty. */
  bootstraps(configuration: Configuration): void {
    this.#bootstrap = configuration
  }

  get up(): boolean {
    return this.#life !== null
  }

  get life(): Life | null {
    return this.#life
  }

  get running(): Running | null {
    return this.#running
  }

  get status(): RaftStatus | null {
    return this.#running?.node.status() ?? null
  }

  /** Begins a life. The node is `running` a little later, when its log was read. */
  start(): void {
    if (this.#life !== null) return
    const { plan } = this.#world
    this.#lives += 1
    const life = new Life({
      server: this.id,
      number: this.#lives,
      rate: 1 + between(this.#random, -plan.clockDrift, plan.clockDrift),
      offsetMs: between(this.#random, 0, 1e6),
    })
    this.#life = life
    this.#world.trace.add(() => `${this.id} starts, life ${life.number}`)
    this.#boot(life).catch((error: unknown) => {
      if (!life.alive) return
      // A start on a full disk may fail, and is tried again.
      if (this.#mayDie || isRefusal(error)) {
        this.#mayDie = false
        this.#world.died(this)
        return
      }
      this.#world.report({
        rule: 'a server starts again after every crash',
        text: `${this.id}: ${textOf(error)}`,
      })
    })
  }

  async #boot(life: Life): Promise<void> {
    const world = this.#world
    const { plan, scheduler } = world
    const clock = scheduler.clockOf(life)
    const disk = mortalDisk(this.#disk.mount(clock), life)
    const gate = new DiskGate({ clock, logger: this.#logger(life) })
    const opened = await openDurableLog(disk, {
      ...plan.log,
      gate,
      newSalt: () => integer(this.#random, 1, 0xffff_ffff),
    })
    const observed = await ObservedLog.recovered(opened, this.id, this.image, world.logWatch(this))
    if (!life.alive) return
    this.image = observed.image
    const machine = new SimMachine({
      disk: this.#machineDisk,
      gate,
      life,
      scheduler,
      random: this.#random,
      watch: world.machineWatch(this),
    })
    machine.latencyMs = plan.applyMs
    if (machine.appliedIndex < this.#flooredAt) {
      world.report({
        rule: 'the state never goes below what was durable',
        text: `${this.id} is at ${machine.appliedIndex}, it was durable at ${this.#flooredAt}`,
      })
    }
    const node = new RaftNode({
      id: this.id,
      timing: this.#timing,
      limits: plan.limits,
      leaseReads: plan.leaseReads,
      log: observed.log,
      gate,
      recovered: opened.recovered,
      machine,
      transport: new SimTransport({
        id: this.id,
        life,
        scheduler,
        network: world.network,
        random: this.#random,
        breakRate: plan.snapshotBreakRate,
      }),
      clock,
      bootMs: () => scheduler.bootMsOf(life),
      random: this.#random,
      defer: (run) => scheduler.after(between(this.#random, 0, 0.2), run, life),
      logger: this.#logger(life),
      onFatal: (error) => this.#fatal(life, error),
    })
    await node.start()
    if (!life.alive) return
    const prefix = `${this.id}-${life.number}`
    const sent = new SentWrites({ applied: machine, clock, prefix })
    this.#running = { life, node, machine, sent, log: observed.log, disk }
    // An operator begins the cluster again if the first attempt left nothing behind.
    const { lastIndex, term } = node.status()
    if (this.#bootstrap !== null && lastIndex === 0 && term === 0) {
      await node.bootstrap(this.#bootstrap)
    }
  }

  /** The power fails, or only the process is killed; the life is over between two events. */
  crash(power: boolean): void {
    const life = this.#end()
    if (life === null) return
    this.#world.trace.add(() => `${this.id} ${power ? 'loses power' : 'is killed'}`)
    if (power) {
      this.#disk.crash(this.#random)
      this.#machineDisk.crash(this.#random)
    } else {
      this.#disk.kill()
      this.#machineDisk.kill()
    }
  }

  /** Ends in order, as at SIGTERM. */
  async stop(): Promise<void> {
    const running = this.#running
    if (running === null || this.#stopping === running) return
    this.#stopping = running
    this.#world.trace.add(() => `${this.id} stops`)
    await running.node.stop()
    await running.log.close()
    await running.machine.close()
    if (!running.life.alive) return
    const left = [...running.disk.pending]
    if (left.length > 0) {
      this.#world.report({
        rule: 'a server that stopped leaves nothing under way',
        text: `${this.id}: ${left.join(', ')}`,
      })
    }
    this.#end()
    this.#disk.kill()
    this.#machineDisk.kill()
  }

  freeze(forMs: number): void {
    if (this.#life === null) return
    this.#world.trace.add(() => `${this.id} stands still for ${forMs.toFixed(0)} ms`)
    this.#world.scheduler.freeze(this.#life, forMs)
  }

  suspend(forMs: number): void {
    if (this.#life === null) return
    this.#world.trace.add(() => `${this.id} is suspended for ${forMs.toFixed(0)} ms`)
    this.#world.scheduler.suspend(this.#life, forMs)
  }

  stallDisk(forMs: number): void {
    this.#world.trace.add(() => `${this.id} disk stalls for ${forMs.toFixed(0)} ms`)
    this.#disk.stall(forMs)
  }

  /** `factor` 1 is the ordinary speed. */
  slowDisk(factor: number): void {
    this.#world.trace.add(() => `${this.id} disk is ${factor.toFixed(1)} times as slow`)
    this.#diskDelay.highMs = this.#world.plan.diskMs * factor
  }

  /** Full or read-only from now on; null: as it should be. */
  refuseWrites(kind: Refusal | null): void {
    this.#world.trace.add(() => `${this.id} disk is ${kind ?? 'well again'}`)
    this.#disk.refusal = kind
    this.#machineDisk.refuses = kind !== null && happens(this.#random, 0.7)
  }

  /** The next sync fails; the node must stop then. */
  breakDisk(): void {
    this.#world.trace.add(() => `${this.id} disk fails its next sync`)
    this.#mayDie = true
    this.#disk.failNextSync()
  }

  #end(): Life | null {
    const life = this.#life
    if (life === null) return null
    life.alive = false
    this.#life = null
    this.#running = null
    this.#flooredAt = this.#machineDisk.durable.index
    this.#world.network.detach(this.id)
    return life
  }

  #fatal(life: Life, error: unknown): void {
    if (!life.alive) return
    if (this.#mayDie && error instanceof MusterError && error.code === 'unavailable') {
      this.#mayDie = false
      this.#world.died(this)
      return
    }
    this.#world.report({
      rule: 'a node does not fail by itself',
      text: `${this.id}: ${error instanceof Error ? (error.stack ?? error.message) : textOf(error)}`,
    })
  }

  #logger(life: Life): Logger {
    const line = (level: string) => (message: string, fields?: object) => {
      if (!life.alive) return
      const details = fields === undefined ? '' : ` ${JSON.stringify(fields)}`
      this.#world.trace.add(() => `${this.id} ${level}: ${message}${details}`)
      if (message !== forgetfulText) return
      const text = `${this.id}: ${message}${details}`
      this.#world.report({ rule: 'disks of this world keep what they synced', text })
    }
    return {
      ...silentLogger,
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
    }
  }
}

/** Other timeouts with the same heartbeats. */
function stretched({ electionMs, adaptive, heartbeatMs }: RaftTiming, factor: number): RaftTiming {
  const longer = adaptive && { minMs: adaptive.minMs * factor, maxMs: adaptive.maxMs * factor }
  return { electionMs: electionMs * factor, adaptive: longer, heartbeatMs }
}
