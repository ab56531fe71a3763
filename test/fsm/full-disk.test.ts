/** What the state machine does on a disk that is full or read-only for a while. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Machine } from '../../src/fsm/machine.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { DiskGate } from '../../src/lib/disk-gate.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { fill, makeReadOnly, mountSmallDisk } from '../support/mounts.ts'
import { counters, temporaryFolder, things, ToyLog, toyMachine } from './toy.ts'

const notTested = 'NOT TESTED: this machine lets the test mount nothing'
const value = 'v'.repeat(20_000)

function gateOf(t: Test): DiskGate {
  const gate = new DiskGate({ clock: systemClock, logger: silentLogger })
  t.teardown(() => gate.close())
  return gate
}

async function smallDisk(t: Test, MiB: number): Promise<string | null> {
  const folder = await temporaryFolder(t)
  return (await mountSmallDisk(t, folder, MiB)) ? folder : null
}

async function digestOfReplica(t: Test, entries: ReturnType<ToyLog['take']>): Promise<string> {
  const replica = await toyMachine(t)
  await replica.apply(entries)
  return replica.digest()
}

/** A view that is read after each batch, so that there are states with readers at any moment. */
function nameSeen(machine: Machine, name: string): boolean {
  using view = machine.view()
  return view.get(things, ['full', name]) !== undefined
}

await t.test('a full disk holds entries up and loses none; what is applied is read', async (t) => {
  const folder = await smallDisk(t, 12)
  if (folder === null) return t.comment(notTested)
  const gate = gateOf(t)
  const machine = await toyMachine(t, { folder: join(folder, 'state'), gate })
  const log = new ToyLog(machine)
  await machine.apply(log.command('toy.count', { name: 'n' }).entries.slice(0, 1))
  const filler = join(folder, 'filler')
  await fill(filler)

  let applied = 1
  const applying = (async () => {
    for (let at = 0; at < 40; at += 1) {
      log.put('full', `n${at}`, value, 't').command('toy.count', { name: 'n' })
      const outcomes = await machine.apply(log.entries.slice(-2))
      applied += 2
      if (outcomes[1] !== at + 2) throw new Error(`count ${String(outcomes[1])} at ${at}`)
    }
  })()
  await eventuallyTrue('the disk refuses', () => gate.refusing)
  t.ok(applied < 81, 'entries wait')
  t.ok(nameSeen(machine, 'n0'), 'what was applied is read')
  t.equal(machine.reader().get(counters, ['n'])?.count, (machine.appliedIndex + 1) / 2)
  const flushing = machine.flush()
  await rm(filler)
  await applying
  t.ok((await flushing).index <= machine.appliedIndex)
  t.equal(gate.refusing, false)
  t.equal(machine.appliedIndex, 81)
  t.equal((await machine.flush()).index, 81)
  const digest = await machine.digest()
  t.equal(digest, await digestOfReplica(t, log.entries))
  await machine.close()
  const again = await toyMachine(t, { folder: join(folder, 'state') })
  t.equal(again.appliedIndex, 81)
  t.equal(await again.digest(), digest)
})

await t.test('a flush that found no room, and the write-ahead file it began', async (t) => {
  const folder = await smallDisk(t, 12)
  if (folder === null) return t.comment(notTested)
  const gate = gateOf(t)
  const storeLimits = {
    flushBytes: 1 << 20,
    unflushedBytesMax: 4 << 20,
    writeBufferBytes: 16 << 20,
    blockCacheBytes: 2 ** 20,
  }
  const machine = await toyMachine(t, { folder: join(folder, 'state'), gate, storeLimits })
  const log = new ToyLog(machine)
  const filler = join(folder, 'filler')
  for (let round = 0; round < 4; round += 1) {
    await fill(filler)
    const applying = (async () => {
      for (let at = 0; at < 20; at += 1) {
        await machine.apply(log.put('full', `n${round} ${at}`, value).entries.slice(-1))
      }
      await machine.flush()
    })()
    await eventuallyTrue('the disk refuses', () => gate.refusing)
    await rm(filler)
    await applying
  }
  const digest = await machine.digest()
  t.equal(digest, await digestOfReplica(t, log.entries))
  await machine.close()
  const again = await toyMachine(t, { folder: join(folder, 'state'), storeLimits })
  t.equal(await again.digest(), digest)
})

await t.test('a read-only disk is outlasted once LevelDB needs a new file', async (t) => {
  const folder = await temporaryFolder(t)
  const gate = gateOf(t)
  const machine = await toyMachine(t, { folder: join(folder, 'state'), gate })
  const log = new ToyLog(machine)
  const restore = await makeReadOnly(t, join(folder, 'state'))
  if (restore === null) return t.comment(notTested)
  const applying = (async () => {
    for (let at = 0; at < 600; at += 1) {
      await machine.apply(log.put('full', `n${at}`, value).entries.slice(-1))
    }
  })()
  await eventuallyTrue('the disk refuses', () => gate.refusing)
  t.ok(nameSeen(machine, 'n0'))
  await restore()
  await applying
  t.equal((await machine.flush()).index, 600)
  t.equal(await machine.digest(), await digestOfReplica(t, log.entries))
})

await t.test('a snapshot that fills the disk is given up, and its room given back', async (t) => {
  const folder = await smallDisk(t, 6)
  if (folder === null) return t.comment(notTested)
  const source = await toyMachine(t)
  const sourceLog = new ToyLog(source)
  for (let at = 0; at < 30; at += 1) sourceLog.put('big', `n${at}`, String(at).repeat(10_000))
  for (const entry of sourceLog.entries) await source.apply([entry])
  const machine = await toyMachine(t, { folder: join(folder, 'state'), gate: gateOf(t) })
  const snapshot = await source.snapshot()
  t.teardown(() => snapshot.close())
  const chunks: Uint8Array[] = []
  for await (const chunk of snapshot.chunks(0)) chunks.push(chunk)

  const sink = await machine.stage('one', snapshot.meta)
  await t.rejects(async () => {
    // The same rows again under other names of chunks: more than the disk holds.
    for (let round = 0; round < 100; round += 1) for (const chunk of chunks) await sink.write(chunk)
  }, /No space left on device/)
  await t.rejects(sink.write(chunks[0] ?? new Uint8Array()), { code: 'cancelled' })
  // There is room again, for entries and for the next attempt under the same id.
  await machine.apply(new ToyLog(machine).put('full', 'n0', value).take())
  const next = await machine.stage('one', snapshot.meta)
  t.equal(next.received, 0)
})

await t.test('a machine that is closed while its disk is full comes to its end', async (t) => {
  const folder = await smallDisk(t, 8)
  if (folder === null) return t.comment(notTested)
  const gate = gateOf(t)
  const machine = await toyMachine(t, { folder: join(folder, 'state'), gate })
  const log = new ToyLog(machine)
  await fill(join(folder, 'filler'))
  const applying = (async () => {
    for (;;) await machine.apply(log.put('full', 'n', value).entries.slice(-1))
  })()
  applying.catch(() => undefined)
  await eventuallyTrue('the disk refuses', () => gate.refusing)
  gate.close()
  await t.rejects(applying, { code: 'unavailable' })
  await machine.close()
})
