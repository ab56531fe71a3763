/** Who listens gets every row that changes, in the order of the log, or is told that it missed some. */
import t from 'tap'
import type { ChangedEntry } from '../../src/fsm/domain.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { carrySnapshot, things, toyMachine, ToyLog, type Thing } from './toy.ts'

function listen(machine: Machine) {
  const heard: string[] = []
  const leave = machine.onChanges(['things'], (entries, appliedIndex) => {
    heard.push(
      entries === null
        ? `lost, ${appliedIndex}`
        : entries.map((entry) => shown(machine, entry)).join('; '),
    )
  })
  return { heard, leave }
}

function shown(machine: Machine, { index, rows }: ChangedEntry): string {
  const changes = rows.map((changed) => {
    const { name, value } = machine.unpackRow(changed.packed) as Thing
    return `${changed.removed ? '-' : '+'}${name} ${value}`
  })
  return `${index}: ${changes.join(', ')}`
}

void t.test('rows are told as they were written, and as they were before they went', async (t) => {
  const machine = await toyMachine(t)
  const { heard, leave } = listen(machine)
  const log = new ToyLog(machine)
  await machine.apply(log.put('a', 'one', 'I').put('a', 'two', 'II').take())
  t.same(heard, ['1: +one I; 2: +two II'])
  await machine.apply(log.remove('a', 'one').remove('a', 'none').take())
  t.equal(heard[1], '3: -one I', 'what was not there changed nothing')
  leave()
  await machine.apply(log.put('a', 'three').take())
  t.equal(heard.length, 2)
})

void t.test('a row is visible when it is told', async (t) => {
  const machine = await toyMachine(t)
  const seen: boolean[] = []
  machine.onChanges(['things'], (entries, appliedIndex) => {
    t.equal(machine.appliedIndex, appliedIndex)
    for (const { rows } of entries ?? []) {
      for (const changed of rows) {
        const { space, name } = machine.unpackRow(changed.packed) as Thing
        seen.push(machine.reader().get(things, [space, name]) !== undefined)
      }
    }
  })
  await machine.apply(new ToyLog(machine).put('a', 'one').put('a', 'two').take())
  t.same(seen, [true, true])
})

void t.test(
  'whoever begins to listen in the middle of a batch is told that it missed some',
  async (t) => {
    const machine = await toyMachine(t)
    const log = new ToyLog(machine)
    // More than the machine applies in one turn: the listener comes when the first of them are applied.
    for (let at = 0; at < 100; at += 1) log.put('a', `n${at}`)
    const applied = machine.apply(log.take())
    const { heard } = listen(machine)
    await applied
    t.same(heard, ['lost, 100'])
    await machine.apply(log.put('a', 'last').take())
    t.match(heard[1] ?? '', /^101: \+last/)
  },
)

void t.test('a snapshot that is installed changes everything', async (t) => {
  const [from, to] = [await toyMachine(t), await toyMachine(t)]
  await from.apply(new ToyLog(from).put('a', 'one').put('a', 'two').take())
  const { heard } = listen(to)
  await carrySnapshot(from, to)
  t.same(heard, ['lost, 2'])
})
