/** The suite of the contract `StateMachine`: on the one over LevelDB and on the simulator's, whose proof is worth as much as the two are alike. */
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { encodeConfiguration } from '../../src/raft/core/membership.ts'
import type { Configuration, Entry } from '../../src/raft/core/message.ts'
import type { SnapshotSource, StateMachine } from '../../src/raft/state-machine.ts'

export type Subject = {
  /** Opens it, or ends its process in order and opens it again. */
  readonly open: () => Promise<StateMachine>
  /** The data of a command that writes a row of this number. Rows of 10 take several chunks of a snapshot. */
  readonly command: (row: number) => Uint8Array
}

const configuration: Configuration = {
  clusterId: 'c1',
  members: [{ id: 'id-1', name: 's1', address: '127.0.0.1:1', role: 'voter' }],
}

export async function stateMachineContract(
  t: Test,
  name: string,
  subject: (t: Test) => Promise<Subject>,
): Promise<void> {
  const holds = (
    sentence: string,
    check: (t: Test, first: Subject, second: Subject) => Promise<void>,
  ) =>
    t.test(`${name}: ${sentence}`, async (t) => {
      await check(t, await subject(t), await subject(t))
    })

  await holds('an empty one is at 0', async (t, { open }) => {
    const machine = await open()
    t.same([machine.appliedIndex, machine.installedIndex], [0, 0])
    t.match(await machine.flush(), { index: 0, term: 0, configurationIndex: 0 })
  })

  await holds('each entry has an outcome and moves the index, whatever it is', async (t, first) => {
    const machine = await first.open()
    const entries = logOf(first, 'configuration', 'noop', 'command', 'command')
    const outcomes = await machine.apply(entries.slice(0, 3))
    t.equal(outcomes.length, 3)
    t.equal(machine.appliedIndex, 3)
    t.equal((await machine.apply(entries.slice(3))).length, 1)
    t.equal(machine.appliedIndex, 4)
  })

  await holds('what was flushed is there after a restart', async (t, first) => {
    const before = await first.open()
    await before.apply(logOf(first, 'noop', 'configuration', 'command'))
    const meta = { index: 3, term: 3, configuration, configurationIndex: 2 }
    t.same(await before.flush(), meta)
    const held = await contentOf(before)
    const after = await first.open()
    t.same([after.appliedIndex, after.installedIndex], [3, 0])
    t.same(await after.flush(), meta)
    t.same(await contentOf(after), held)
  })

  await holds('a snapshot stays what it was, from whichever chunk it is read', async (t, first) => {
    const machine = await first.open()
    const entries = logOf(first, 'configuration', ...tenCommands, ...tenCommands)
    await machine.apply(entries.slice(0, 11))
    const source = await machine.snapshot()
    const chunks = await chunksOf(source, 0)
    t.ok(chunks.length > 2, `${chunks.length} chunks`)
    await machine.apply(entries.slice(11))
    t.same(source.meta, { index: 11, term: 3, configuration, configurationIndex: 1 })
    t.same(await chunksOf(source, 0), chunks)
    t.same(await chunksOf(source, 2), chunks.slice(2))
    const next = await machine.snapshot()
    t.not(next.id, source.id)
    t.equal(next.meta.index, 21)
    for (const one of [source, next]) await one.close()
  })

  await holds(
    'an installed snapshot is the state, and the log goes on',
    async (t, first, second) => {
      const [from, to] = [await first.open(), await second.open()]
      const entries = logOf(first, 'configuration', ...tenCommands, 'command')
      await from.apply(entries.slice(0, 11))
      await to.apply(logOf(second, 'command'))
      const source = await from.snapshot()
      await stageAll(to, source)
      t.equal(to.appliedIndex, 1, 'staged is not installed')
      await to.install(source.meta)
      t.same([to.appliedIndex, to.installedIndex], [11, 11])
      await source.close()
      for (const machine of [from, to]) await machine.apply(entries.slice(11))
      t.same(await contentOf(to), await contentOf(from))
      await to.flush()
      const again = await second.open()
      t.same([again.appliedIndex, again.installedIndex], [12, 11])
      t.same(await contentOf(again), await contentOf(from))
    },
  )

  await holds('what is staged has no effect on a restart', async (t, first, second) => {
    const from = await first.open()
    await from.apply(logOf(first, ...tenCommands))
    const source = await from.snapshot()
    const to = await second.open()
    await to.apply(logOf(second, 'noop'))
    await to.flush()
    await stageAll(to, source)
    const again = await second.open()
    t.same([again.appliedIndex, again.installedIndex], [1, 0])
    await source.close()
  })

  await holds('staging goes on within an id, and another voids it', async (t, first, second) => {
    const from = await first.open()
    await from.apply(logOf(first, ...tenCommands))
    const [source, other] = [await from.snapshot(), await from.snapshot()]
    const chunks = await chunksOf(source, 0)
    const to = await second.open()
    const begun = await to.stage(source.id, source.meta)
    t.equal(begun.received, 0)
    for (const chunk of chunks.slice(0, 2)) await begun.write(chunk)
    t.equal((await to.stage(source.id, source.meta)).received, 2)
    const later = await to.stage(other.id, other.meta)
    t.equal(later.received, 0)
    await t.rejects(begun.write(chunks[2] ?? new Uint8Array()))
    await stageAll(to, other)
    await to.install(other.meta)
    t.equal(to.appliedIndex, 10)
    for (const one of [source, other]) await one.close()
  })
}

const tenCommands = Array<Entry['kind']>(10).fill('command')

/** Entries from 1 on, of term 3. */
function logOf({ command }: Subject, ...kinds: readonly Entry['kind'][]): Entry[] {
  return kinds.map((kind, at) => {
    const [index, term] = [at + 1, 3]
    if (kind === 'command') return { index, term, kind, data: command(index) }
    const data = kind === 'configuration' ? encodeConfiguration(configuration) : new Uint8Array()
    return { index, term, kind, data }
  })
}

async function chunksOf(source: SnapshotSource, from: number): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of source.chunks(from)) chunks.push(Buffer.from(chunk))
  return chunks
}

function sha256(chunks: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

/** The hash of a snapshot's bytes. */
async function contentOf(machine: StateMachine): Promise<string> {
  const source = await machine.snapshot()
  const content = sha256(await chunksOf(source, 0))
  await source.close()
  return content
}

async function stageAll(machine: StateMachine, source: SnapshotSource): Promise<void> {
  const chunks = await chunksOf(source, 0)
  const sink = await machine.stage(source.id, source.meta)
  for (const chunk of chunks.slice(sink.received)) await sink.write(chunk)
  await sink.finish(sha256(chunks))
}
