/** The floor of counters: above all that a restore, or the loss of a quorum, takes out of the state. */
import t from 'tap'
import { counterFloorVersion, counterStepMax } from '../../src/fsm/counter-floor.ts'
import { encodeBlock, noRowsDigest, restoreDigest } from '../../src/fsm/restore.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import type { Configuration } from '../../src/raft/core/message.ts'
import { counters, temporaryFolder, toy, toyMachine, ToyLog, transfer } from './toy.ts'

const domain = {
  ...toy,
  tables: toy.tables.map((table) =>
    table.name === counters.name ? { ...counters, counter: () => 5_000 } : table,
  ),
}

function decodeConfiguration(data: Uint8Array): Configuration {
  return JSON.parse(Buffer.from(data).toString()) as Configuration
}

const options = { domains: [domain], decodeConfiguration }
const version = counterFloorVersion
const first = { clusterId: 'a', members: [] }
const successor = {
  clusterId: 'b',
  members: [],
  succession: { predecessors: ['a'], beginsAt: 0 },
}

async function archiveOf(machine: Machine): Promise<Buffer[]> {
  const source = machine.exportRows()
  const blocks: Buffer[] = []
  for await (const block of source.blocks()) blocks.push(Buffer.from(block))
  source.close()
  return blocks
}

function restoring(log: ToyLog, blocks: readonly Uint8Array[], rows: number): ToyLog {
  log.command('state.restoreBegin', { id: 'r' })
  let digest = noRowsDigest
  for (const [number, block] of blocks.entries()) {
    log.command('state.restoreChunk', { id: 'r', number, rows: block })
    digest = restoreDigest(digest, block)
  }
  return log.command('state.restoreCommit', { id: 'r', rows, digest })
}

t.test('a restore raises it above the old state and above the archive', async (t) => {
  const folder = await temporaryFolder(t)
  const machine = await toyMachine(t, { folder, ...options })
  const log = new ToyLog(machine)
  await machine.apply(log.command('state.raiseVersion', { version }).take())
  t.equal(machine.reader().counterFloor, 0)
  const blocks = await archiveOf(machine)
  await machine.apply(restoring(log, blocks, 1).take())
  const { counterFloor, appliedIndex } = machine.reader()
  t.equal(counterFloor, 5_000 + counterStepMax * appliedIndex)
  await machine.apply(restoring(log, [], 0).take())
  const higher = machine.reader().counterFloor
  t.equal(higher, counterFloor + counterStepMax * machine.appliedIndex)

  await t.test('it outlasts a restart, and comes with a snapshot', async (t) => {
    const snapshot = await machine.snapshot()
    const fresh = await toyMachine(t, options)
    await transfer(snapshot, fresh)
    await snapshot.close()
    t.equal(fresh.reader().counterFloor, higher)
    await machine.close()
    const again = await toyMachine(t, { folder, ...options })
    t.equal(again.reader().counterFloor, higher)
  })
})

t.test('the recovery of a lost quorum raises it, once', async (t) => {
  const machine = await toyMachine(t, options)
  const log = new ToyLog(machine)
  await machine.apply(
    log.configuration(JSON.stringify(first)).command('state.raiseVersion', { version }).take(),
  )
  t.equal(machine.reader().counterFloor, 0, 'a cluster that begins has none')
  await machine.apply(log.configuration(JSON.stringify(successor)).take())
  const { counterFloor } = machine.reader()
  t.ok(counterFloor > 2 ** 40)
  const { clusterId: id, succession } = successor
  t.strictSame(machine.reader().cluster, { id, predecessors: succession?.predecessors })
  await machine.apply(log.configuration(JSON.stringify(successor)).noop().take())
  t.equal(machine.reader().counterFloor, counterFloor)
  const next = { ...successor, clusterId: 'c' }
  await machine.apply(log.configuration(JSON.stringify(next)).take())
  t.ok(machine.reader().counterFloor > counterFloor + 2 ** 40)
})

t.test('a cluster of older servers keeps none, and makes up for a recovery later', async (t) => {
  const machine = await toyMachine(t, options)
  const log = new ToyLog(machine)
  const blocks = await archiveOf(machine)
  restoring(log.configuration(JSON.stringify(first)), blocks, 1)
  await machine.apply(log.configuration(JSON.stringify(successor)).take())
  t.equal(machine.reader().counterFloor, 0, 'as their programs do')
  await machine.apply(log.command('state.raiseVersion', { version }).take())
  t.ok(machine.reader().counterFloor > 2 ** 40)
})

t.test('a restore that began before the last server was upgraded is refused', async (t) => {
  const machine = await toyMachine(t, options)
  const log = new ToyLog(machine)
  log.command('state.restoreBegin', { id: 'r' }).command('state.raiseVersion', { version })
  log.command('state.restoreCommit', { id: 'r', rows: 0, digest: noRowsDigest })
  const outcomes = await machine.apply(log.take())
  t.match(outcomes.at(-1), { ok: false, reason: /send the archive again/ })
})

t.test('a floor that is stored is never above what a number can hold', async (t) => {
  const limitless = { ...counters, counter: () => Number.MAX_SAFE_INTEGER }
  const tables = toy.tables.map((table) => (table.name === counters.name ? limitless : table))
  const machine = await toyMachine(t, { ...options, domains: [{ ...toy, tables }] })
  const log = new ToyLog(machine).command('state.raiseVersion', { version })
  await machine.apply(restoring(log, [encodeBlock([])], 0).take())
  t.ok(machine.reader().counterFloor < 5_000)
  await machine.apply(restoring(log, await archiveOf(machine), 0).take())
  t.ok(machine.reader().counterFloor <= Number.MAX_SAFE_INTEGER)
})
