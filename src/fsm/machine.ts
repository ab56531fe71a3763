/**
 * The replicated state machine: committed entries in order, each loaded, applied and written in one atomic batch with
 * the applied index; readers of any state since; snapshots out and in.
 *
 * A batch is visible to readers as soon as it is whole, from memory; LevelDB is given it a moment later. All entries are in the
 * durable log, so what a crash takes comes back.
 */
import { setImmediate } from 'node:timers/promises'
import { assert, AssertionError } from '../lib/assert.ts'
import { isRefusal } from '../lib/disk-gate.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type {
  Entry,
  LogIndex,
  SnapshotMeta,
  SnapshotSink,
  SnapshotSource,
  StateMachine,
} from '../raft/state-machine.ts'
import { AppliedCommands, type CommandListener, type NamedListener } from './applied-commands.ts'
import { RowExport } from './archive.ts'
import { Batch } from './batch.ts'
import { Caches } from './caches.ts'
import { ChangedRows } from './changed-rows.ts'
import { assertKnown, versionCommands } from './cluster-version.ts'
import { CommandCodec, commandVersion, unpack } from './codec.ts'
import type { ChangesListener, Command, Proposable, Reader } from './domain.ts'
import { EntryApplier, type Definition } from './entry-applier.ts'
import { StateFolder } from './folder.ts'
import type { MachineOptions } from './machine-options.ts'
import { WriteBehind } from './write-behind.ts'
import { openStore } from './open.ts'
import { readCommandVersion, readInstalled, readPosition } from './position.ts'
import { Reactions, tablesOf } from './reactions.ts'
import { restoreCommands } from './restore.ts'
import { StagedSnapshot, StateSnapshot } from './snapshot.ts'
import { State } from './state.ts'
import { Store, storeLimits } from './store.ts'
import type { StoreStats } from './store-stats.ts'
import { Sweeper } from './sweep.ts'
import { Tables } from './table.ts'
import { TableCheck } from './table-check.ts'
import { BatchReader, LiveReader, View } from './view.ts'
import { asTouched } from './touched.ts'
import { Watches, watchLimits } from './watch.ts'

/** Views open at a time; beyond it `view` throws `overloaded`. */
export const openViewsMax = 20_000

/** Entries applied before other work gets a turn. */
const entriesPerTurn = 64

/** Throws `incompatible` when a newer program wrote the folder, `corrupt` when it is damaged, `unavailable` when it is in use. */
export async function openMachine(options: MachineOptions): Promise<Machine> {
  const tables = new Tables(tablesOf(options.domains))
  const folder = await StateFolder.open(options.folder)
  try {
    const limits = options.storeLimits ?? storeLimits
    const { domains, logger, onDamage = () => Promise.resolve('refuse') } = options
    const version = options.commandVersion ?? commandVersion
    const opening = { folder, tables, limits, domains, commandVersion: version, onDamage, logger }
    const opened = await openStore(opening)
    const position = await readPosition(opened.store, null)
    return new Machine(options, {
      folder,
      tables,
      ...opened,
      state: new State(
        opened.store,
        position,
        [],
        new Caches(options.keySetLimits, options.rowCacheBytes),
      ),
    })
  } catch (error) {
    folder.close()
    throw error
  }
}

export class Machine implements StateMachine {
  readonly #options: MachineOptions
  readonly #folder: StateFolder
  readonly #tables: Tables
  readonly #codec: CommandCodec<Definition>
  readonly #watches: Watches
  readonly #listeners = new Set<(appliedIndex: LogIndex) => void>()
  readonly #commands = new AppliedCommands<Definition>()
  readonly #changes = new ChangedRows()
  readonly #replacedListeners = new Set<() => void>()
  readonly #applier: EntryApplier
  readonly #sweeper: Sweeper
  readonly #writeBehind: WriteBehind
  readonly #tableCheck: TableCheck
  #rowCacheBytes: number | undefined
  #name: string
  #installedIndex: LogIndex
  #busy = false
  #openViews = 0
  #staged: StagedSnapshot | null = null
  #closed = false

  constructor(
    options: MachineOptions,
    parts: { folder: StateFolder; tables: Tables; name: string; store: Store; state: State },
  ) {
    this.#options = options
    this.#folder = parts.folder
    this.#tables = parts.tables
    this.#rowCacheBytes = options.rowCacheBytes
    this.#name = parts.name
    this.#writeBehind = new WriteBehind({
      store: parts.store,
      state: parts.state,
      caches: () => new Caches(options.keySetLimits, this.#rowCacheBytes),
      limits: options.storeLimits ?? storeLimits,
      clock: options.clock,
      logger: options.logger,
      gate: options.gate,
      leftovers: () => this.#sweeper.request(),
    })
    this.#tableCheck = new TableCheck({ ...options, store: parts.store })
    this.#installedIndex = readInstalled(parts.store)
    this.#watches = new Watches(this.appliedIndex, options.watchLimits ?? watchLimits)
    const newest = options.commandVersion ?? commandVersion
    const reactions = new Reactions(options.domains, options.cascadeRowsMax)
    this.#codec = new CommandCodec<Definition>(
      [
        ...options.domains.flatMap((domain) => Object.entries(domain.commands)),
        ...Object.entries(restoreCommands),
        ...Object.entries(versionCommands(newest)),
        ...Object.entries(reactions.commands),
      ],
      newest,
    )
    this.#applier = new EntryApplier({
      codec: this.#codec,
      tables: this.#tables,
      commands: this.#commands,
      reactions,
      decodeConfiguration: options.decodeConfiguration,
    })
    this.#sweeper = new Sweeper({
      store: () => this.#writeBehind.store,
      living: () => this.#writeBehind.state.position.generations,
      logger: options.logger,
    })
    this.#sweeper.request()
  }

  /** Of rows read or written lately, from now on. */
  resizeRowCache(bytesMax: number): void {
    this.#rowCacheBytes = bytesMax
    this.#writeBehind.state.caches.rows.resize(bytesMax)
  }

  get appliedIndex(): LogIndex {
    return this.#writeBehind.state.position.appliedIndex
  }

  /** Of the last entry that was applied. */
  get appliedTerm(): number {
    return this.#writeBehind.state.position.appliedTerm
  }

  get installedIndex(): LogIndex {
    return this.#installedIndex
  }

  /** That the cluster runs at, see `cluster-version.ts`. */
  get commandVersion(): number {
    return this.#writeBehind.state.position.commandVersion
  }

  /** `name`: of the write, null for none. For what it throws see `CommandCodec.encode`. */
  encodeCommand(command: Command, name: string | null = null): Uint8Array {
    return this.#codec.encode(command, this.commandVersion, name)
  }

  /** The newest state, whatever that is at each call. Point reads cost microseconds and are consistent within one turn. */
  reader(): Reader {
    return new LiveReader({ tables: this.#tables, state: () => this.#writeBehind.state })
  }

  /**
   * The state as it is now, for as long as the view is open. The caller closes it. `remembers`: what it reads, for `park`.
   * Throws `overloaded` at `openViewsMax`.
   */
  view(remembers = true): View {
    if (this.#openViews >= openViewsMax) {
      throw new MusterError(
        'overloaded',
        `${openViewsMax} reads are open here already; try again later`,
      )
    }
    this.#assertOpen()
    this.#openViews += 1
    return new View(this.#tables, this.#writeBehind.state, remembers, () => {
      this.#openViews -= 1
    })
  }

  /** See `Watches.changedSince`. */
  changedSince(index: LogIndex, touched: object): boolean | 'unknown' {
    return this.#watches.changedSince(index, asTouched(touched))
  }

  /** See `Watches.park`. `sinceIndex` is the `appliedIndex` of the view that did the reading. */
  park(touched: object, sinceIndex: LogIndex, wake: () => void): () => void {
    return this.#watches.park(asTouched(touched), sinceIndex, wake)
  }

  watchStats(): ReturnType<Watches['stats']> {
    return this.#watches.stats()
  }

  /** See `Store.stats`. */
  storeStats(): StoreStats {
    return this.#writeBehind.store.stats()
  }

  /** Called after each batch, once it is visible. Returns the way to stop listening. */
  onApplied(listener: (appliedIndex: LogIndex) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** See `AppliedCommands`. Returns the way to stop listening. */
  onCommand<Args, Outcome>(
    { type }: Proposable<Args, Outcome>,
    listener: CommandListener<Args, Outcome>,
  ): () => void {
    // Both sides have the types of one definition.
    return this.#commands.listen(this.#codec.definitionOf(type), listener as CommandListener)
  }

  /** Commands of writes that have a name; for one listener. Returns the way to stop listening. */
  onNamed(listener: NamedListener): () => void {
    return this.#commands.listenNamed(listener)
  }

  /** Rows of these tables, after each batch: see `ChangedRows`. For one listener; returns the way to stop. */
  onChanges(tables: readonly string[], listener: ChangesListener): () => void {
    return this.#changes.listen(tables, listener)
  }

  /** What `ChangedRow.packed` holds; another object at each call. */
  unpackRow(packed: Uint8Array): unknown {
    return unpack(packed)
  }

  /** Called when another state took the place of this one whole: a snapshot or an archive. */
  onReplaced(listener: () => void): () => void {
    this.#replacedListeners.add(listener)
    return () => this.#replacedListeners.delete(listener)
  }

  /**
   * After a rejection the machine applies nothing more: the process must stop. While the disk takes no writes it waits; what is
   * applied already stays visible.
   */
  async apply(entries: readonly Entry[]): Promise<readonly unknown[]> {
    return this.#exclusively(async () => {
      try {
        return await this.#apply(entries)
      } catch (error) {
        await this.#fail(error, this.#writeBehind.store.damaged)
        throw error
      }
    })
  }

  async flush(): Promise<SnapshotMeta> {
    this.#assertOpen()
    return this.#writeBehind.flush()
  }

  /** Looks for damage in the background and in all reads, until `close`. `failed`: as after a rejection of `apply`. */
  checkTables(failed: (error: MusterError) => void): void {
    this.#tableCheck.start(async (error, store) => {
      // A snapshot may have taken its place.
      if (store !== this.#writeBehind.store) return
      await this.#fail(error, error.code === 'corrupt')
      failed(error)
    })
  }

  /** At the applied index of this call, or later. */
  async snapshot(): Promise<SnapshotSource> {
    await this.#writeBehind.settled()
    this.#assertOpen()
    return StateSnapshot.take(this.#writeBehind.store)
  }

  /** sha256 over the whole state, once all that was applied is in the store. */
  async digest(): Promise<string> {
    await this.#writeBehind.settled()
    const snapshot = await StateSnapshot.take(this.#writeBehind.store)
    try {
      return await snapshot.digest()
    } finally {
      await snapshot.close()
    }
  }

  /** The rows of all tables as they are now, for an archive. The caller closes it. */
  exportRows(): RowExport {
    this.#assertOpen()
    return new RowExport(this.#writeBehind.state)
  }

  async stage(id: string, meta: SnapshotMeta): Promise<SnapshotSink> {
    this.#assertOpen()
    if (this.#staged?.id === id && this.#staged.usable) return this.#staged
    await this.#discardStaged()
    const name = await this.#folder.begin()
    const limits = this.#options.storeLimits ?? storeLimits
    const store = await Store.open(this.#folder.pathOf(name), limits).catch(
      async (error: unknown) => {
        await this.#folder.remove(name).catch(() => {})
        throw error
      },
    )
    const failed = async () => {
      if (this.#staged === arriving) await this.#discardStaged()
    }
    const arriving = new StagedSnapshot({ id, meta, name, store, failed })
    this.#staged = arriving
    return arriving
  }

  /** Views opened before fail with `unavailable` at their next read; parked readers wake. */
  async install(meta: SnapshotMeta): Promise<void> {
    return this.#exclusively(() => this.#install(meta))
  }

  /** Wakes everyone parked; reads fail with `unavailable` from now on. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#watches.close(this.appliedIndex)
    await this.#writeBehind.settled()
    await this.#tableCheck.stop()
    await this.#sweeper.stop()
    await this.#discardStaged()
    await this.#writeBehind.close()
    this.#folder.close()
  }

  async #install(meta: SnapshotMeta): Promise<void> {
    const staged = this.#staged
    assert(staged?.finished === true, 'a snapshot is installed once it is staged whole')
    assert(staged.meta.index === meta.index, 'the snapshot to install is the one that was staged')
    assert(meta.index > this.appliedIndex, 'a snapshot to install is newer than the state')
    assertKnown(readCommandVersion(staged.store, null), this.#codec.newest)
    const name = this.#name
    const old = await this.#writeBehind.replace(staged.store, () =>
      this.#folder.choose(staged.name),
    )
    this.#name = staged.name
    this.#tableCheck.watchReads(staged.store)
    this.#installedIndex = meta.index
    this.#staged = null
    this.#watches.allChanged(meta.index)
    this.#announce(true)
    await old.close()
    await this.#folder.remove(name).catch((error: unknown) => {
      // The next start removes what a read-only disk keeps.
      if (!isRefusal(error)) throw error
    })
    this.#sweeper.request()
  }

  async #apply(entries: readonly Entry[]): Promise<readonly unknown[]> {
    const outcomes: unknown[] = []
    let batch = new Batch(this.#tables, this.#writeBehind.state, this.#changes)
    let reader = new BatchReader(this.#tables, batch)
    for (const entry of entries) {
      if (entry.index !== batch.appliedIndex + 1) {
        throw new AssertionError(`entry ${entry.index} comes after ${batch.appliedIndex}`)
      }
      const outcome = this.#applier.apply(entry, batch, reader)
      outcomes.push(outcome instanceof Promise ? await outcome : outcome)
      batch.applied(entry.index, entry.term)
      if (batch.generations.current !== this.#writeBehind.state.position.generations.current) {
        // What comes after a restore must see its rows: they get a batch of their own.
        await this.#publish(batch)
        batch = new Batch(this.#tables, this.#writeBehind.state, this.#changes)
        reader = new BatchReader(this.#tables, batch)
      }
      if (outcomes.length % entriesPerTurn === 0) await setImmediate()
    }
    if (batch.appliedIndex > this.appliedIndex) await this.#publish(batch)
    return outcomes
  }

  /** Makes a batch visible, and waits while too much of them is on its way into the store. */
  async #publish(batch: Batch): Promise<void> {
    const before = this.#writeBehind.state.position.generations
    const position = batch.finish()
    const restored = position.generations.current !== before.current
    const landed = this.#writeBehind.publish(
      batch,
      restored
        ? { ...position, floorIndex: position.appliedIndex, tableIndexes: new Map() }
        : position,
    )
    if (restored) this.#watches.allChanged(position.appliedIndex)
    else for (const { index, keys } of batch.changed) this.#watches.changed(index, keys)
    this.#announce(restored)
    await landed()
  }

  #announce(replaced: boolean): void {
    if (replaced) for (const listener of this.#replacedListeners) listener()
    this.#commands.tell()
    this.#changes.tell(this.appliedIndex, replaced)
    for (const listener of this.#listeners) listener(this.appliedIndex)
  }

  async #fail(error: unknown, damaged: boolean): Promise<void> {
    this.#writeBehind.fail(error)
    if (damaged) await this.#folder.markDamaged(this.#name, textOf(error))
  }

  async #discardStaged(): Promise<void> {
    const staged = this.#staged
    if (staged === null) return
    this.#staged = null
    staged.void()
    await staged.store.close()
    await this.#folder.remove(staged.name)
  }

  async #exclusively<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#assertOpen()
    assert(!this.#busy, 'apply and install are called one at a time')
    this.#busy = true
    try {
      return await run()
    } finally {
      this.#busy = false
    }
  }

  #assertOpen(): void {
    this.#writeBehind.assertSound()
    if (this.#closed) throw new MusterError('unavailable', 'the state is closed')
  }
}
