/** Another configuration for the log of a stopped server: the whole log with it, or the whole log without. */
import t from 'tap'
import { configurationAfter } from '../../../src/raft/core/membership.ts'
import type { Configuration } from '../../../src/raft/core/message.ts'
import { successorOf } from '../../../src/raft/core/succession.ts'
import { openDurableLog } from '../../../src/raft/storage/durable-log.ts'
import type { RecoveredLog } from '../../../src/raft/storage/log-store.ts'
import { readingDisk } from '../../../src/raft/storage/reading-disk.ts'
import { streamOf } from '../../sim/randomness.ts'
import { SimDisk } from '../../sim/disk.ts'
import {
  append,
  brief,
  configuration,
  configurationEntry,
  copyOf,
  entries,
  hardState,
  immediateClock,
  readAll,
  smallLog,
  snapshotMeta,
  vote,
} from './harness.ts'

const open = (sim: SimDisk) => openDurableLog(sim.mount(immediateClock), smallLog)
const inForce = ({ snapshot, configurations }: RecoveredLog): Configuration =>
  configurationAfter(snapshot, configurations)

/** Several segments, a configuration in the log, a vote. */
async function filled(): Promise<SimDisk> {
  const sim = new SimDisk()
  const { store } = await open(sim)
  await store.write([append(configurationEntry(1, 1, 's1'))])
  await store.write([append(...entries(2, 20, 1, 500))])
  await store.write([append(configurationEntry(21, 2, 's2'))])
  await store.write([append(...entries(22, 30, 2, 300)), vote(hardState(3, 's2', 20))])
  await store.close()
  return sim
}

const successor = successorOf(configuration('s2'), 'c2', configuration('s3').members)

void t.test('the configuration is another one, and all else is as it was', async (t) => {
  const sim = await filled()
  const before = await open(sim)
  const held = brief(await readAll(before.store, before.recovered))
  await before.store.succeed(successor)
  await before.store.close()
  const { store, recovered } = await open(sim)
  t.same(inForce(recovered), successor)
  t.same(brief(await readAll(store, recovered)), held)
  t.same(recovered.hardState, before.recovered.hardState)
  t.same(recovered.termRuns, before.recovered.termRuns)
  await store.close()
})

void t.test('a compaction keeps it', async (t) => {
  const sim = await filled()
  const { store } = await open(sim)
  await store.succeed(successor)
  await store.write([append(...entries(31, 60, 4, 500))])
  await store.write([append(...entries(61, 62, 4, 500))])
  const { baseIndex } = await store.compact(snapshotMeta(62, 4, 0, successor))
  t.ok(baseIndex > 21, 'the old configurations are gone')
  await store.close()
  const again = await open(sim)
  t.same(inForce(again.recovered), successor)
  await again.store.close()
})

void t.test('at any crash the log has the one configuration or the other', async (t) => {
  const original = await filled()
  let crashes = 0
  const found = new Set<string>()
  for (let operation = 0; ; operation += 1) {
    const sim = copyOf(original)
    let left = operation
    let crashed = false
    sim.onOperation = () => {
      if (left-- > 0 || crashed) return
      crashed = true
      sim.crash(streamOf(operation, 'crash'))
    }
    try {
      const { store } = await open(sim)
      await store.succeed(successor)
      await store.close()
    } catch {
      t.ok(crashed, 'only a crash fails it')
    }
    sim.onOperation = () => undefined
    if (!crashed) break
    crashes += 1
    sim.kill()
    const { store, recovered } = await open(sim)
    found.add(inForce(recovered).clusterId)
    t.equal((await readAll(store, recovered)).length, 30)
    await store.close()
  }
  t.ok(crashes > 5)
  t.same([...found].toSorted(), ['c1', 'c2'])
})

void t.test('a log that is only read stays byte for byte', async (t) => {
  const sim = await filled()
  const bytes = (one: SimDisk) =>
    one.names().map((file) => `${file} ${Buffer.from(one.content(file)).toString('hex')}`)
  const before = bytes(sim)
  const disk = readingDisk(sim.mount(immediateClock))
  const { store, recovered } = await openDurableLog(disk, smallLog)
  t.equal(recovered.lastIndex, 30)
  await store.close()
  t.same(bytes(sim), before)
})
