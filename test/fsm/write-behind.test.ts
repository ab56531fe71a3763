/** When batches reach the store: together, soon, and at once where somebody needs them there. */
import t, { type Test } from 'tap'
import type { Machine } from '../../src/fsm/machine.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock, type ManualClock } from '../support/manual-clock.ts'
import { crashCopy, temporaryFolder, things, toyMachine, ToyLog } from './toy.ts'

type Started = {
  readonly folder: string
  readonly clock: ManualClock
  readonly machine: Machine
  readonly log: ToyLog
}

async function started(t: Test): Promise<Started> {
  const folder = await temporaryFolder(t)
  const clock = manualClock()
  const machine = await toyMachine(t, { folder, clock })
  return { folder, clock, machine, log: new ToyLog(machine) }
}

/** How far a start would come that finds the folder as it is now. */
async function landedIndex(t: Test, { folder }: Started): Promise<number> {
  const machine = await toyMachine(t, { folder: await crashCopy(t, folder) })
  const { appliedIndex } = machine
  await machine.close()
  return appliedIndex
}

async function settled({ machine }: Started): Promise<void> {
  const source = await machine.snapshot()
  await source.close()
}

t.test('small batches are visible at once and land together a moment later', async (t) => {
  const at = await started(t)
  const given = () => at.machine.storeStats().unflushedBytes
  const before = given()
  for (let number = 0; number < 10; number += 1) {
    await at.machine.apply(at.log.put('s', 'same', `v${number}`).take())
    t.equal(at.machine.reader().get(things, ['s', 'same'])?.value, `v${number}`)
  }
  t.equal(given(), before, 'the store was given nothing yet')
  t.equal(await landedIndex(t, at), 0)
  at.clock.advance(20)
  await eventuallyTrue('it is written', () => given() > before)
  await settled(at)
  const ten = given() - before
  t.equal(await landedIndex(t, at), 10)

  await at.machine.apply(at.log.put('s', 'same', 'w0').take())
  at.clock.advance(20)
  await settled(at)
  t.equal(given() - before - ten, ten, 'a row that changed ten times was written once')
})

t.test('what is gathered is bounded in bytes and in batches', async (t) => {
  for (const [size, most] of [
    [40_000, 8],
    [10, 32],
  ] as const) {
    const at = await started(t)
    const before = at.machine.storeStats().unflushedBytes
    let batches = 0
    while (at.machine.storeStats().unflushedBytes === before && batches < 100) {
      batches += 1
      await at.machine.apply(at.log.put('s', `n${batches}`, 'v'.repeat(size)).take())
      // The write begins a moment after the batch that filled the measure.
      await new Promise(setImmediate)
    }
    t.ok(batches <= most, `${batches} batches of ${size} bytes`)
    t.ok(batches > 3)
  }
})

t.test('a flush, a snapshot and a close wait for no timer', async (t) => {
  for (const way of ['flush', 'snapshot', 'digest', 'close'] as const) {
    const at = await started(t)
    await at.machine.apply(at.log.put('s', 'a').put('s', 'b').take())
    if (way === 'snapshot') await settled(at)
    else await at.machine[way]()
    t.equal(await landedIndex(t, at), 2, way)
  }
})

t.test('a view reads its own state, wherever the rows of it and of later ones are', async (t) => {
  const at = await started(t)
  const views = []
  for (let number = 0; number < 6; number += 1) {
    await at.machine.apply(at.log.put('s', 'a', `v${number}`).put('s', `n${number}`).take())
    views.push(at.machine.view())
    if (number === 2) at.clock.advance(20)
    if (number === 4) await settled(at)
  }
  at.clock.advance(20)
  await settled(at)
  for (const [number, view] of views.entries()) {
    t.equal(view.get(things, ['s', 'a'])?.value, `v${number}`)
    const names = []
    for await (const page of view.pages(things)) names.push(...page.map(({ name }) => name))
    t.same(names, ['a', ...views.slice(0, number + 1).map((_, at) => `n${at}`)])
    view.close()
  }
})

t.test('a crash loses no more than what the log has', async (t) => {
  const at = await started(t)
  const replica = await toyMachine(t)
  const entries = []
  for (let number = 0; number < 50; number += 1) {
    const next = at.log.put('s', `n${number % 7}`, `v${number}`, number % 2 ? 'red' : null).take()
    entries.push(...next)
    await at.machine.apply(next)
    if (number % 10 === 9) at.clock.advance(20)
  }
  const copy = await toyMachine(t, { folder: await crashCopy(t, at.folder) })
  await copy.apply(entries.slice(copy.appliedIndex))
  await replica.apply(entries)
  t.equal(await copy.digest(), await replica.digest())
  t.equal(await at.machine.digest(), await replica.digest())
})
