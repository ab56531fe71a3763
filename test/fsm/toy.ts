/** A small domain for the tests of the machine, and helpers to drive machines with it. */
import { createHash } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { CommandDefinition, Domain, Reader, Table } from '../../src/fsm/domain.ts'
import { openMachine } from '../../src/fsm/machine.ts'
import { Count, record } from '../../src/fsm/row-schema.ts'
import type { MachineOptions } from '../../src/fsm/machine-options.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Configuration, Entry } from '../../src/raft/core/message.ts'
import type { SnapshotSource } from '../../src/raft/state-machine.ts'

const Thing = record({
  space: Type.String(),
  name: Type.String(),
  value: Type.String(),
  tag: Type.Union([Type.String(), Type.Null()]),
  index: Count,
})
export type Thing = Readonly<Static<typeof Thing>>

export const things: Table<Thing> = {
  name: 'things',
  row: Thing,
  key: (thing) => [thing.space, thing.name],
  indexes: { tag: (thing) => (thing.tag === null ? null : [thing.tag]) },
}

const Counter = record({ name: Type.String(), count: Count })
export type Counter = Readonly<Static<typeof Counter>>

export const counters: Table<Counter> = {
  name: 'counters',
  row: Counter,
  key: (counter) => [counter.name],
}

const PutArgs = Type.Object({
  space: Type.String(),
  name: Type.String(),
  value: Type.String(),
  tag: Type.Union([Type.String(), Type.Null()]),
})

const put: CommandDefinition<Static<typeof PutArgs>, null, { index: number }> = {
  args: PutArgs,
  load: () => null,
  apply: ({ index }, args) => ({
    changes: [{ type: 'put', table: things, row: { ...args, index } }],
    outcome: { index },
  }),
}

/** Under a key that no thing has had. */
const add: typeof put = {
  ...put,
  apply: ({ index }, args) => ({
    changes: [{ type: 'insert', table: things, row: { ...args, index } }],
    outcome: { index },
  }),
}

const DeleteArgs = Type.Object({ space: Type.String(), name: Type.String() })

const remove: CommandDefinition<Static<typeof DeleteArgs>, boolean, { found: boolean }> = {
  args: DeleteArgs,
  load: (reader, { space, name }) => reader.get(things, [space, name]) !== undefined,
  apply: (_, { space, name }, found) => ({
    changes: [{ type: 'delete', table: things, key: [space, name] }],
    outcome: { found },
  }),
}

const CountArgs = Type.Object({ name: Type.String() })

const count: CommandDefinition<Static<typeof CountArgs>, number, number> = {
  args: CountArgs,
  load: (reader, { name }) => reader.get(counters, [name])?.count ?? 0,
  apply: (_, { name }, before) => ({
    changes: [{ type: 'put', table: counters, row: { name, count: before + 1 } }],
    outcome: before + 1,
  }),
}

const SumArgs = Type.Object({ space: Type.String(), tag: Type.Union([Type.String(), Type.Null()]) })

/** Scans in `load`: what it finds, also of the same batch, is the outcome. */
const sum: CommandDefinition<Static<typeof SumArgs>, readonly string[], readonly string[]> = {
  args: SumArgs,
  load: (reader, { space, tag }) => namesOf(reader, space, tag),
  apply: (_, { space }, names) => ({
    changes: [{ type: 'put', table: counters, row: { name: `sum ${space}`, count: names.length } }],
    outcome: names,
  }),
}

export async function namesOf(
  reader: Reader,
  space: string,
  tag: string | null,
): Promise<readonly string[]> {
  const pages =
    tag === null
      ? reader.pages(things, { prefix: [space] })
      : reader.pagesBy(things, 'tag', { prefix: [tag] })
  const names: string[] = []
  for await (const page of pages) names.push(...page.map(({ name }) => name))
  return names
}

const later: CommandDefinition<Static<typeof CountArgs>, null, null> = {
  args: CountArgs,
  since: 2,
  load: () => null,
  apply: () => ({ changes: [], outcome: null }),
}

export const toy: Domain = {
  name: 'toy',
  tables: [things, counters],
  commands: {
    'toy.put': put,
    'toy.add': add,
    'toy.remove': remove,
    'toy.count': count,
    'toy.sum': sum,
    'toy.later': later,
  },
  seed: [{ type: 'put', table: counters, row: { name: 'seeded', count: 7 } }],
}

export function decodeConfiguration(data: Uint8Array): Configuration {
  return { clusterId: Buffer.from(data).toString(), members: [] }
}

type Cleanup = { teardown(run: () => Promise<unknown>): unknown }

export async function temporaryFolder(test: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-fsm-'))
  test.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A machine in a new folder, or in `folder`; closed when the test ends. */
export async function toyMachine(
  test: Cleanup,
  options: Partial<MachineOptions> = {},
): Promise<Machine> {
  const folder = options.folder ?? join(await temporaryFolder(test), 'state')
  const machine = await openMachine({
    domains: [toy],
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
    ...options,
    folder,
  })
  test.teardown(() => machine.close())
  return machine
}

/** What a crash would leave: the folder as it is, without a close. */
export async function crashCopy(test: Cleanup, folder: string): Promise<string> {
  const copy = join(await temporaryFolder(test), 'state')
  await cp(folder, copy, { recursive: true })
  return copy
}

export async function chunksOf(source: SnapshotSource, from = 0): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of source.chunks(from)) chunks.push(Buffer.from(chunk))
  return chunks
}

export function sha256(chunks: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/** All of it, in chunks as a peer would send them. */
export async function transfer(source: SnapshotSource, to: Machine): Promise<void> {
  const chunks = await chunksOf(source)
  const sink = await to.stage(source.id, source.meta)
  for (const chunk of chunks) await sink.write(chunk)
  await sink.finish(sha256(chunks))
  await to.install(source.meta)
}

/** `to` gets the state that `from` has. */
export async function carrySnapshot(from: Machine, to: Machine): Promise<void> {
  const source = await from.snapshot()
  await transfer(source, to)
  await source.close()
}

/** Builds consecutive log entries. */
export class ToyLog {
  readonly entries: Entry[] = []
  readonly #machine: Machine

  /** `machine` encodes the commands. */
  constructor(machine: Machine, from = 1) {
    this.#machine = machine
    this.#next = from
  }

  #next: number

  command(type: string, args: unknown): this {
    return this.#add('command', this.#machine.encodeCommand({ type, args }))
  }

  put(space: string, name: string, value = '', tag: string | null = null): this {
    return this.command('toy.put', { space, name, value, tag })
  }

  remove(space: string, name: string): this {
    return this.command('toy.remove', { space, name })
  }

  noop(): this {
    return this.#add('noop', Buffer.alloc(0))
  }

  configuration(name: string): this {
    return this.#add('configuration', Buffer.from(name))
  }

  /** What was added since the last call. */
  take(): Entry[] {
    return this.entries.splice(0)
  }

  #add(kind: Entry['kind'], data: Uint8Array): this {
    this.entries.push({ index: this.#next, term: 3, kind, data })
    this.#next += 1
    return this
  }
}
