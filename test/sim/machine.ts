/**
 * The fake of the state machine: keys with versions in memory, on a disk that keeps one of two promises.
 *
 *   'prefix': a crash loses what was applied after the last flush, down to some consistent prefix of it.
 *   'all':    a crash loses nothing that was applied, as when every batch is synced.
 *
 * It also checks its side of the contract: entries come once, in order, one call at a time.
 */
import { crc32 } from 'node:zlib'
import { createHash } from 'node:crypto'
import type { NamedCommand } from '../../src/fsm/applied-commands.ts'
import { namedWritesVersion } from '../../src/fsm/codec.ts'
import type { DiskGate } from '../../src/lib/disk-gate.ts'
import { MusterError } from '../../src/lib/errors.ts'
import type { Random } from '../../src/lib/random.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import type {
  Configuration,
  Entry,
  LogIndex,
  SnapshotMeta,
  Term,
} from '../../src/raft/core/message.ts'
import type { StateMachine } from '../../src/raft/state-machine.ts'
import type { NamedWrites } from '../../src/rpc/sent-writes.ts'
import type { SnapshotSink, SnapshotSource } from '../../src/raft/transport/transport.ts'
import { between, happens, integer } from './randomness.ts'
import { applyCommand, decodeCommand, type Outcome, type Row } from './commands.ts'
import type { Life, Scheduler } from './scheduler.ts'

export type MachineState = {
  readonly rows: Map<string, Row>
  index: LogIndex
  term: Term
  configuration: Configuration
  configurationIndex: LogIndex
  installedIndex: LogIndex
  /** Checksum over every entry that led here, so that equal histories are equal numbers. */
  chain: number
}

export type Durability = 'prefix' | 'all'

/** What is on the disk of one server. */
export class MachineDisk {
  readonly durability: Durability
  durable: MachineState = emptyState()
  /** Applied since; how much of it a crash keeps is random, or all of it. */
  unflushed: readonly Entry[] = []
  staged: Staged | null = null
  /** It is full, or read-only. */
  refuses = false

  constructor(durability: Durability) {
    this.durability = durability
  }

  /** The process ended, the system did not: what was applied is there. */
  kill(): void {
    for (const entry of this.unflushed) advance(this.durable, entry)
    this.unflushed = []
  }

  crash(random: Random): void {
    const { length } = this.unflushed
    const kept = this.durability === 'all' ? length : integer(random, 0, length)
    for (const entry of this.unflushed.slice(0, kept)) advance(this.durable, entry)
    this.unflushed = []
    // A half staged snapshot may or may not be found again.
    if (this.staged !== null && !this.staged.finished) {
      const chunks = this.staged.chunks.slice(0, integer(random, 0, this.staged.chunks.length))
      this.staged = happens(random, 0.5) ? { ...this.staged, chunks } : null
    }
  }
}

type Staged = {
  readonly id: string
  readonly meta: SnapshotMeta
  readonly chunks: Uint8Array[]
  finished: boolean
}

export type MachineWatch = {
  applied(entry: Entry, chain: number): void
  installed(index: LogIndex, chain: number): void
  /** The caller broke the contract. */
  misused(text: string): void
}

/** Small enough that a snapshot of a simulated state has several. */
const chunkBytes = 200

export class SimMachine implements StateMachine, NamedWrites {
  readonly #disk: MachineDisk
  readonly #gate: DiskGate
  readonly #life: Life
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #watch: MachineWatch
  #state: MachineState
  #applying = false
  #snapshots = 0
  #onNamed: (write: NamedCommand) => void = () => undefined
  #onApplied: () => void = () => undefined
  readonly commandVersion = namedWritesVersion
  /** Milliseconds that one call takes; the world may make it slow. */
  latencyMs = 0.1

  constructor(options: {
    readonly disk: MachineDisk
    readonly gate: DiskGate
    readonly life: Life
    readonly scheduler: Scheduler
    readonly random: Random
    readonly watch: MachineWatch
  }) {
    this.#disk = options.disk
    this.#gate = options.gate
    this.#life = options.life
    this.#scheduler = options.scheduler
    this.#random = options.random
    this.#watch = options.watch
    this.#state = copyOf(options.disk.durable)
  }

  get appliedIndex(): LogIndex {
    return this.#state.index
  }

  get installedIndex(): LogIndex {
    return this.#state.installedIndex
  }

  get appliedTerm(): Term {
    return this.#state.term
  }

  onNamed(listener: (write: NamedCommand) => void) {
    this.#onNamed = listener
    return () => undefined
  }

  onApplied(listener: () => void) {
    this.#onApplied = listener
    return () => undefined
  }

  get state(): Readonly<MachineState> {
    return this.#state
  }

  row(key: string): Row | null {
    return this.#state.rows.get(key) ?? null
  }

  async apply(entries: readonly Entry[]): Promise<readonly Outcome[]> {
    if (this.#applying) this.#watch.misused('apply was called while another was under way')
    const first = entries[0]?.index ?? 0
    if (first !== this.#state.index + 1) {
      this.#watch.misused(`apply began at ${first}, the state is at ${this.#state.index}`)
    }
    this.#applying = true
    await this.#pause()
    await this.#room()
    const outcomes: Outcome[] = []
    for (const entry of entries) {
      if (entry.index !== this.#state.index + 1) this.#watch.misused('entries have a gap')
      outcomes.push(advance(this.#state, entry))
      this.#watch.applied(entry, this.#state.chain)
    }
    this.#disk.unflushed = [...this.#disk.unflushed, ...entries]
    for (const [at, { kind, data, index }] of entries.entries()) {
      if (kind !== 'command') continue
      const { type, name } = decodeCommand(data)
      if (name !== undefined) this.#onNamed({ name, type, index, outcome: outcomes[at] })
    }
    this.#onApplied()
    // A crash here finds the state ahead of what the caller knows.
    if (happens(this.#random, 0.2)) await this.#pause()
    this.#applying = false
    return outcomes
  }

  async flush(): Promise<SnapshotMeta> {
    const meta = metaOf(this.#state)
    await this.#pause()
    await this.#room()
    const { unflushed, durable } = this.#disk
    for (const entry of unflushed) if (entry.index <= meta.index) advance(durable, entry)
    this.#disk.unflushed = unflushed.filter((entry) => entry.index > meta.index)
    await this.#pause()
    return meta
  }

  async snapshot(): Promise<SnapshotSource> {
    await this.#pause()
    const meta = metaOf(this.#state)
    const bytes = encodeState(this.#state)
    this.#snapshots += 1
    return {
      meta,
      id: `${this.#life.server}-${this.#life.number}-${this.#snapshots}`,
      chunks: (from) => chunksOf(bytes, from),
      close: () => Promise.resolve(),
    }
  }

  async stage(id: string, meta: SnapshotMeta): Promise<SnapshotSink> {
    await this.#pause()
    if (this.#disk.staged?.id !== id) {
      this.#disk.staged = { id, meta, chunks: [], finished: false }
    }
    const staged = this.#disk.staged
    const assertCurrent = () => {
      if (this.#disk.staged === staged) return
      throw new MusterError('conflict', 'another snapshot took the place of this one')
    }
    return {
      received: staged.chunks.length,
      write: async (chunk) => {
        assertCurrent()
        if (this.#disk.refuses) {
          this.#disk.staged = null
          throw full()
        }
        staged.chunks.push(chunk)
        await this.#pause()
      },
      finish: async (sha256) => {
        await this.#pause()
        assertCurrent()
        const hash = createHash('sha256')
        for (const chunk of staged.chunks) hash.update(chunk)
        if (hash.digest('hex') !== sha256) this.#watch.misused('the chunks are not what was sent')
        staged.finished = true
      },
    }
  }

  async install(meta: SnapshotMeta): Promise<void> {
    if (this.#applying) this.#watch.misused('install was called while entries were being applied')
    await this.#pause()
    await this.#room()
    const { staged } = this.#disk
    if (staged === null || !staged.finished || staged.meta.index !== meta.index) {
      this.#watch.misused(`install of ${meta.index}, which is not staged whole`)
      throw new MusterError('internal', 'nothing to install')
    }
    if (meta.index <= this.#state.index) {
      this.#watch.misused(`install of ${meta.index}, the state is at ${this.#state.index}`)
    }
    this.#state = { ...decodeState(Buffer.concat(staged.chunks)), installedIndex: meta.index }
    this.#disk.durable = copyOf(this.#state)
    this.#disk.unflushed = []
    this.#disk.staged = null
    this.#watch.installed(meta.index, this.#state.chain)
    this.#onApplied()
    await this.#pause()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** Waits until the disk takes writes. */
  async #room(): Promise<void> {
    if (!this.#disk.refuses) return
    await this.#gate.outlast('state', full(), () =>
      this.#disk.refuses ? Promise.reject(full()) : Promise.resolve(),
    )
  }

  #pause(): Promise<void> {
    const delayMs = between(this.#random, 0, 2 * this.latencyMs)
    return this.#scheduler.sleep(delayMs, this.#life)
  }
}

function full(): Error {
  return Object.assign(new Error('no space is left for the state'), { code: 'ENOSPC' })
}

function advance(state: MachineState, entry: Entry): Outcome {
  state.index = entry.index
  state.term = entry.term
  state.chain = crc32(`${entry.index} ${entry.term} ${entry.kind}`, state.chain)
  state.chain = crc32(entry.data, state.chain)
  if (entry.kind === 'configuration') {
    state.configuration = decodeConfiguration(entry.data)
    state.configurationIndex = entry.index
  }
  if (entry.kind !== 'command') return { type: 'nothing' }
  return applyCommand(state.rows, decodeCommand(entry.data), entry.index)
}

function metaOf({ index, term, configuration, configurationIndex }: MachineState): SnapshotMeta {
  return { index, term, configuration, configurationIndex }
}

function emptyState(): MachineState {
  return {
    rows: new Map(),
    index: 0,
    term: 0,
    configuration: { clusterId: '', members: [] },
    configurationIndex: 0,
    installedIndex: 0,
    chain: 0,
  }
}

function copyOf(state: MachineState): MachineState {
  return { ...state, rows: new Map(state.rows) }
}

/** Equal states are equal bytes. */
export function encodeState({ rows, ...rest }: Readonly<MachineState>): Uint8Array {
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.from(JSON.stringify({ ...rest, installedIndex: 0, rows: sorted }))
}

function decodeState(bytes: Buffer): MachineState {
  const { rows, ...rest } = JSON.parse(bytes.toString()) as Omit<MachineState, 'rows'> & {
    rows: [string, Row][]
  }
  return { ...rest, rows: new Map(rows) }
}

async function* chunksOf(bytes: Uint8Array, from: number): AsyncGenerator<Uint8Array> {
  for (let at = from * chunkBytes; at < bytes.length; at += chunkBytes) {
    yield bytes.subarray(at, at + chunkBytes)
  }
}
