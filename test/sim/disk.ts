/**
 * The fake of a disk: one folder in memory that keeps no more than the contract of `Disk` promises.
 * A crash loses, tears and reorders what was not synced, names included; a killed process loses nothing
 * that the operating system has, although none of it need be durable. Everything follows from the seeds.
 */
import { assert } from '../../src/lib/assert.ts'
import type { Clock, Timer } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { seededRandom, type Random } from '../../src/lib/random.ts'
import type { Disk, DiskFile } from '../../src/raft/storage/disk.ts'
import { between, happens, integer, pick } from './randomness.ts'
import { SimFile } from './disk-file.ts'

export type DiskOperation = {
  readonly type: keyof Omit<Disk, 'path'> | keyof DiskFile
  /** Empty for operations on the folder. */
  readonly name: string
}

export type SimDiskOptions = {
  readonly path?: string
  /** For the delays. */
  readonly random?: Random
  /** Every operation takes between `lowMs` and `highMs`. */
  readonly delay?: { readonly lowMs: number; readonly highMs: number }
}

/**
 * How a disk refuses: what makes files longer ('full'), every write ('full, writing anew', as where nothing is ever written in
 * place), all that changes names ('read-only', with the files that are open still writable), or everything.
 */
export const refusals = ['full', 'full, writing anew', 'read-only', 'read-only at once'] as const
export type Refusal = (typeof refusals)[number]

/** What a disk writes whole or not at all. */
const sectorBytes = 512

type NameChange =
  | { readonly type: 'create'; readonly name: string; readonly file: SimFile }
  | { readonly type: 'remove'; readonly name: string; readonly file: SimFile }
  | {
      readonly type: 'rename'
      readonly from: string
      readonly to: string
      readonly file: SimFile
    }

/** One process's use of the disk, from its start until it or the machine goes down. */
type Life = {
  readonly clock: Clock
  readonly waiting: Set<{ timer: Timer; reject: (error: unknown) => void }>
  alive: boolean
  stalledUntilMs: number
}

export class SimDisk {
  /** Bytes of all files together that may be written before the disk is full. */
  capacityBytes = Infinity
  /** Null: it takes writes. */
  refusal: Refusal | null = null
  /** Sees every operation before it has any effect; may crash the disk right there. */
  onOperation: (operation: DiskOperation) => void = () => undefined
  readonly #path: string
  readonly #random: Random
  readonly #delay: { readonly lowMs: number; readonly highMs: number }
  #names = new Map<string, SimFile>()
  #durableNames = new Map<string, SimFile>()
  /** Since the last sync of the folder, in order. */
  #nameChanges: NameChange[] = []
  #failing: {
    readonly type: DiskOperation['type']
    readonly name: string | null
    readonly code: string
  } | null = null
  readonly #lives = new Set<Life>()

  constructor(options: SimDiskOptions = {}) {
    this.#path = options.path ?? '/sim'
    this.#random = options.random ?? seededRandom(1)
    this.#delay = options.delay ?? { lowMs: 0, highMs: 0 }
  }

  /** The disk for one life of a process. Every operation resolves through a timer of its clock. */
  mount(clock: Clock): Disk {
    const life: Life = { clock, waiting: new Set(), alive: true, stalledUntilMs: 0 }
    this.#lives.add(life)
    return {
      path: this.#path,
      list: () => this.#operate(life, 'list', '', () => () => [...this.#names.keys()].sort()),
      create: (name) =>
        this.#operate<DiskFile>(life, 'create', name, () =>
          this.#namesRefused() ? () => readOnly() : this.#create(life, name),
        ),
      open: (name) =>
        this.#operate(life, 'open', name, () => {
          const file = this.#file(name)
          file.name = name
          return () => this.#handle(life, file)
        }),
      rename: (from, to) =>
        this.#operate<void>(life, 'rename', from, () =>
          this.#namesRefused() ? () => readOnly() : this.#rename(from, to),
        ),
      remove: (name) =>
        this.#operate<void>(life, 'remove', name, () =>
          this.#namesRefused() ? () => readOnly() : this.#remove(name),
        ),
      syncFolder: () => this.#operate(life, 'syncFolder', '', () => this.#beginFolderSync()),
    }
  }

  /** The power fails: unsynced bytes and names are lost, kept or torn, as `random` has it. */
  crash(random: Random): void {
    this.kill()
    const files = new Set([...this.#names.values(), ...this.#durableNames.values()])
    for (const { file } of this.#nameChanges) files.add(file)
    const mode = pick(random, ['lost', 'kept', 'prefix', 'any'] as const)
    const prefix = integer(random, 0, this.#nameChanges.length)
    for (const [at, change] of this.#nameChanges.entries()) {
      const kept = { lost: false, kept: true, prefix: at < prefix, any: happens(random, 0.5) }
      if (kept[mode]) applyName(this.#durableNames, change)
    }
    this.#nameChanges = []
    this.#names = new Map(this.#durableNames)
    for (const file of files) file.crash(random)
  }

  /** The process dies, the machine does not: what it wrote stays as it is, synced or not. */
  kill(): void {
    for (const life of this.#lives) {
      life.alive = false
      for (const { timer, reject } of life.waiting) {
        timer.cancel()
        reject(gone())
      }
      life.waiting.clear()
    }
    this.#lives.clear()
    this.#failing = null
  }

  /** Nothing resolves for this long, what is under way included. */
  stall(forMs: number): void {
    for (const life of this.#lives) life.stalledUntilMs = life.clock.monotonicMs() + forMs
  }

  /** The next operation of this kind, of this file or of any, fails. */
  failNext(type: DiskOperation['type'], name: string | null = null, code = 'EIO'): void {
    this.#failing = { type, name, code }
  }

  /** What was to be synced looks written from then on, and never will be. */
  failNextSync(name: string | null = null, code = 'EIO'): void {
    this.failNext('sync', name, code)
  }

  /** Flips bits of a byte, durably. */
  corrupt(name: string, position: number, mask = 0xff): void {
    this.#file(name).corrupt(position, mask)
  }

  names(): readonly string[] {
    return [...this.#names.keys()].sort()
  }

  /** A copy of what a process would read. */
  content(name: string): Uint8Array {
    const { bytes, size } = this.#file(name).cached
    return bytes.slice(0, size)
  }

  /** Puts a file there as if it had been for long. */
  place(name: string, bytes: Uint8Array): void {
    const file = new SimFile(name)
    file.write(bytes, 0)
    file.beginSync()()
    this.#names.set(name, file)
    this.#durableNames.set(name, file)
  }

  /** `issue` has the operation's effect as far as others see it, and returns how it ends. */
  #operate<T>(
    life: Life,
    type: DiskOperation['type'],
    name: string,
    issue: () => () => T | Error,
    issueFailing: () => void = () => undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (life.alive) this.onOperation({ type, name })
      if (!life.alive) throw gone()
      const failing = this.#failing
      const fails = failing?.type === type && (failing.name ?? name) === name
      if (fails) {
        this.#failing = null
        issueFailing()
      }
      const end = fails ? () => failure(failing.code, `${type} of ${name} failed`) : issue()
      const waiting = { timer: { cancel: () => {} }, reject }
      const arm = (delayMs: number) => {
        waiting.timer = life.clock.setTimer(delayMs, () => {
          const stalledMs = life.stalledUntilMs - life.clock.monotonicMs()
          if (stalledMs > 0) {
            arm(stalledMs)
            return
          }
          life.waiting.delete(waiting)
          const result = end()
          if (result instanceof Error) reject(result)
          else resolve(result)
        })
      }
      life.waiting.add(waiting)
      arm(between(this.#random, this.#delay.lowMs, this.#delay.highMs))
    })
  }

  #handle(life: Life, file: SimFile): DiskFile {
    let open = true
    const operate = <T>(
      type: keyof DiskFile,
      issue: () => () => T | Error,
      issueFailing?: () => void,
    ): Promise<T> => {
      const checked = () => {
        assert(open, `${file.name} is used before it is closed`)
        return issue()
      }
      return this.#operate(life, type, file.name, checked, issueFailing)
    }
    return {
      size: () => operate('size', () => () => file.cached.size),
      read: (buffer, position) => operate('read', () => () => file.cached.read(buffer, position)),
      write: (buffer, position) =>
        operate<void>('write', () => {
          const refused = this.#refusedWrite(file, buffer, position)
          if (refused !== null) return () => refused
          const growth = Math.max(0, position + buffer.length - file.cached.size)
          if (this.#usedBytes() + growth > this.capacityBytes) {
            return () => failure('ENOSPC', 'no space is left on the disk')
          }
          file.write(buffer, position)
          return () => undefined
        }),
      sync: () =>
        operate<void>(
          'sync',
          () => file.beginSync(),
          () => file.forget(),
        ),
      truncate: (size) =>
        operate<void>('truncate', () => {
          if (this.refusal === 'read-only at once') return () => readOnly()
          file.truncate(size)
          return () => undefined
        }),
      close: () =>
        operate('close', () => {
          open = false
          return () => undefined
        }),
    }
  }

  #create(life: Life, name: string): () => DiskFile {
    if (this.#names.has(name)) throw failure('EEXIST', `${name} exists`)
    const file = new SimFile(name)
    this.#changeName({ type: 'create', name, file })
    return () => this.#handle(life, file)
  }

  #rename(from: string, to: string): () => void {
    this.#changeName({ type: 'rename', from, to, file: this.#file(from) })
    return () => undefined
  }

  #remove(name: string): () => void {
    this.#changeName({ type: 'remove', name, file: this.#file(name) })
    return () => undefined
  }

  #changeName(change: NameChange): void {
    this.#nameChanges.push(change)
    applyName(this.#names, change)
  }

  #beginFolderSync(): () => void {
    const begun = new Set(this.#nameChanges)
    return () => {
      for (const change of this.#nameChanges) {
        if (begun.has(change)) applyName(this.#durableNames, change)
      }
      this.#nameChanges = this.#nameChanges.filter((change) => !begun.has(change))
    }
  }

  #file(name: string): SimFile {
    const file = this.#names.get(name)
    if (file === undefined) throw failure('ENOENT', `${name} does not exist`)
    return file
  }

  #namesRefused(): boolean {
    return this.refusal === 'read-only' || this.refusal === 'read-only at once'
  }

  /** A refused write may have gone half way: sectors from its beginning are written, the rest is as it was. */
  #refusedWrite(file: SimFile, buffer: Uint8Array, position: number): Error | null {
    const grows = position + buffer.length > file.cached.size
    switch (this.refusal) {
      case null:
      case 'read-only':
        return null
      case 'read-only at once':
        return readOnly()
      case 'full':
        if (!grows) return null
        break
      case 'full, writing anew':
    }
    const first = sectorBytes - (position % sectorBytes)
    const sectors = Math.floor(Math.max(0, buffer.length - 1 - first) / sectorBytes)
    const taken = happens(this.#random, 0.5)
      ? 0
      : first + sectorBytes * integer(this.#random, 0, sectors)
    if (taken > 0 && taken < buffer.length) file.write(buffer.subarray(0, taken), position)
    return failure('ENOSPC', 'no space is left on the disk')
  }

  #usedBytes(): number {
    let bytes = 0
    for (const file of this.#names.values()) bytes += file.cached.size
    return bytes
  }
}

/** A change whose file is not under its old name (any more, or for the creation was lost) has no effect. */
function applyName(names: Map<string, SimFile>, change: NameChange): void {
  if (change.type === 'create') {
    names.set(change.name, change.file)
    return
  }
  const from = change.type === 'rename' ? change.from : change.name
  if (names.get(from) !== change.file) return
  names.delete(from)
  if (change.type !== 'rename') return
  names.set(change.to, change.file)
  change.file.name = change.to
}

function readOnly(): Error {
  return failure('EROFS', 'the disk is read-only')
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function gone(): MusterError {
  return new MusterError('unavailable', 'the process that used this disk is gone')
}
