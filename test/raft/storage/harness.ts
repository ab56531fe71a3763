/** What the tests of the log share: short ways to say entries, and a store on a simulated disk. */
import { present } from '../../../src/lib/assert.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { encodeConfiguration } from '../../../src/raft/core/membership.ts'
import type {
  Configuration,
  Entry,
  EntryKind,
  HardState,
  LogIndex,
  SnapshotMeta,
  Term,
} from '../../../src/raft/core/message.ts'
import type { Disk } from '../../../src/raft/storage/disk.ts'
import { openDurableLog, type DurableLogOptions } from '../../../src/raft/storage/durable-log.ts'
import type { LogStore, LogWrite, RecoveredLog } from '../../../src/raft/storage/log-store.ts'
import { SimDisk } from '../../sim/disk.ts'

/** Every timer fires as soon as the running code lets go, in order: for tests in which time means nothing. */
export const immediateClock: Clock = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  setTimer(_, run) {
    let cancelled = false
    queueMicrotask(() => {
      if (!cancelled) run()
    })
    return {
      cancel() {
        cancelled = true
      },
    }
  },
}

export const smallLog: DurableLogOptions = {
  segmentBytes: 4096,
  retainBytes: 0,
  retainEntries: 0,
  newSalt: () => 0x5a17,
}

export function entry(
  index: LogIndex,
  term: Term,
  data: string | Uint8Array = `entry ${index} of term ${term}`,
  kind: EntryKind = 'command',
): Entry {
  return { index, term, kind, data: typeof data === 'string' ? Buffer.from(data) : data }
}

export function entries(from: LogIndex, to: LogIndex, term: Term, dataBytes?: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_, at) =>
    dataBytes === undefined
      ? entry(from + at, term)
      : entry(from + at, term, Buffer.alloc(dataBytes, 1 + ((from + at) % 255))),
  )
}

export function configuration(name: string): Configuration {
  const address = `127.0.0.1:${4647 + name.length}`
  return { clusterId: 'c1', members: [{ id: name, name, address, role: 'voter' }] }
}

export function configurationEntry(index: LogIndex, term: Term, name: string): Entry {
  return entry(index, term, encodeConfiguration(configuration(name)), 'configuration')
}

export function snapshotMeta(
  index: LogIndex,
  term: Term,
  configurationIndex = 0,
  of: Configuration = configuration('s1'),
): SnapshotMeta {
  return { index, term, configuration: of, configurationIndex }
}

export function hardState(term: Term, votedFor: string | null = null, commitIndex = 0): HardState {
  return { term, votedFor, commitIndex }
}

export function append(...added: Entry[]): LogWrite {
  return { truncateFrom: null, entries: added, hardState: null }
}

export function overwrite(...added: Entry[]): LogWrite {
  const [first] = added
  return { truncateFrom: present(first, 'an entry').index, entries: added, hardState: null }
}

export function vote(state: HardState): LogWrite {
  return { truncateFrom: null, entries: [], hardState: state }
}

export type Opened = {
  readonly store: LogStore
  readonly recovered: RecoveredLog
  readonly disk: Disk
}

export async function openOn(sim: SimDisk, options: DurableLogOptions = smallLog): Promise<Opened> {
  const disk = sim.mount(immediateClock)
  return { ...(await openDurableLog(disk, options)), disk }
}

/** What a start after a clean end finds. */
export async function reopened(
  sim: SimDisk,
  options: DurableLogOptions = smallLog,
): Promise<RecoveredLog> {
  sim.kill()
  const { store, recovered } = await openOn(sim, options)
  await store.close()
  return recovered
}

/** A disk of its own that holds the same files: what is done to it is not done to the original. */
export function copyOf(sim: SimDisk): SimDisk {
  const copy = new SimDisk()
  for (const name of sim.names()) copy.place(name, sim.content(name))
  return copy
}

/** Indexes and data as text, for comparing at a glance. */
export function brief(list: readonly Entry[]): string[] {
  return list.map((item) => `${item.index}/${item.term} ${Buffer.from(item.data).toString()}`)
}

export async function readAll(store: LogStore, recovered: RecoveredLog): Promise<Entry[]> {
  const all: Entry[] = []
  let next = recovered.snapshot.index + 1
  while (next <= recovered.lastIndex) {
    const part = await store.read(next, recovered.lastIndex, 1024)
    all.push(...part)
    next += part.length
  }
  return all
}
