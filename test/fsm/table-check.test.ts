/** The files of a state are checked while it is in use, and damage ends it. */
import { randomBytes } from 'node:crypto'
import { open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { namesOf, temporaryFolder, things, ToyLog, toyMachine } from './toy.ts'

/** The folder of a state of several table files, closed. LevelDB has nothing to compact when it opens them. */
async function closedState(t: Test): Promise<string> {
  const folder = await temporaryFolder(t)
  const machine = await toyMachine(t, { folder })
  const log = new ToyLog(machine)
  for (let number = 0; number < 1_200; number += 1) {
    log.put('space', `name ${number}`, randomBytes(4_000).toString('hex'))
  }
  await machine.apply(log.take())
  await machine.close()
  const store = await Store.open(join(folder, 'state-1'), storeLimits)
  await store.compact('\x00', '\x7f')
  await store.close()
  return folder
}

async function tablesOf(folder: string): Promise<string[]> {
  const state = join(folder, 'state-1')
  const names = (await readdir(state)).filter((name) => name.endsWith('.ldb'))
  return names.toSorted().map((name) => join(state, name))
}

async function flip(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, at)
  await file.write(Buffer.of((byte[0] ?? 0) ^ 0x10), 0, 1, at)
  await file.close()
}

/** Resolves once the files were checked. */
async function checked(t: Test, folder: string) {
  const failures: Error[] = []
  const lines: Record<string, unknown>[] = []
  const logger = {
    ...silentLogger,
    debug: (message: string, fields = {}) =>
      void (message.startsWith('checked the files') && lines.push(fields)),
  }
  const machine = await toyMachine(t, { folder, logger })
  machine.checkTables((error) => void failures.push(error))
  await eventuallyTrue('it came to an end', () => failures.length + lines.length > 0)
  return { machine, failures, lines }
}

t.test('a state that is whole goes on', async (t) => {
  const folder = await closedState(t)
  const files = (await tablesOf(folder)).length
  t.ok(files > 1, `${files} files`)
  const { machine, failures, lines } = await checked(t, folder)
  t.same(failures, [])
  t.equal(lines.length, 1)
  // Opening it makes one more of its write-ahead file.
  t.ok(Number(lines[0]?.['files']) >= files)
  await machine.apply(new ToyLog(machine, machine.appliedIndex + 1).put('space', 'more').take())
})

t.test('damage in any of its files ends it, and the next start knows', async (t) => {
  const folder = await closedState(t)
  const path = (await tablesOf(folder)).at(-1) ?? ''
  await flip(path, 2_000)
  const { machine, failures } = await checked(t, folder)
  t.equal(failures.length, 1)
  t.match(failures[0], { code: 'corrupt', message: `${path} is damaged: its block at byte 0 does` })
  t.throws(() => machine.view(), { code: 'corrupt' }, 'nothing is read from it any more')
  await t.rejects(machine.snapshot(), { code: 'corrupt' })
  await machine.close()
  await t.rejects(toyMachine(t, { folder }), {
    code: 'corrupt',
    message:
      /could not be read when this server ran last: .*\.ldb is damaged: .*; .* move the data/,
  })
  const anew = await toyMachine(t, { folder, onDamage: () => Promise.resolve('setAside') })
  t.equal(anew.appliedIndex, 0)
  t.match(await readFile(join(folder, 'damaged-1', 'DAMAGED'), 'utf8'), path)
})

for (const [how, readAll] of [
  [
    'one by one',
    (machine: Machine) => {
      for (let number = 0; number < 1_200; number += 1) {
        machine.reader().get(things, ['space', `name ${number}`])
      }
    },
  ],
  ['in pages', (machine: Machine) => namesOf(machine.reader(), 'space', null)],
] as const) {
  t.test(`damage that LevelDB meets when rows are read ${how} ends it too`, async (t) => {
    const folder = await closedState(t)
    const machine = await toyMachine(t, { folder })
    const failures: Error[] = []
    machine.checkTables((error) => void failures.push(error))
    // The last bytes of a file say that it is a table.
    for (const path of await tablesOf(folder)) await flip(path, (await stat(path)).size - 1)
    await t.rejects(async () => readAll(machine), { code: 'corrupt' })
    await t.rejects(async () => readAll(machine), { code: 'corrupt' })
    await eventuallyTrue('it is told', () => failures.length > 0)
    t.match(failures, [
      { code: 'corrupt', message: `the state in ${folder}/state-1 cannot be read: ` },
    ])
    t.throws(() => machine.view(), { code: 'corrupt' }, 'nothing is read from it any more')
    t.match(await readFile(join(folder, 'state-1', 'DAMAGED'), 'utf8'), /cannot be read: .*sstable/)
  })
}

t.test('a file that goes meanwhile is no damage', async (t) => {
  const folder = await closedState(t)
  const machine = await toyMachine(t, { folder })
  for (const path of await tablesOf(folder)) await rm(path)
  const failures: Error[] = []
  machine.checkTables((error) => void failures.push(error))
  await setTimeout(200)
  t.same(failures, [])
})

t.test('the end of the state is the end of the check', async (t) => {
  const folder = await closedState(t)
  for (const path of await tablesOf(folder)) await flip(path, 2_000)
  let timers = 0
  const clock = {
    ...systemClock,
    setTimer(ms: number, run: () => void) {
      timers += 1
      return systemClock.setTimer(ms, run)
    },
  }
  const machine = await toyMachine(t, { folder, clock })
  const failures: Error[] = []
  machine.checkTables((error) => void failures.push(error))
  await machine.close()
  const before = timers
  await setTimeout(100)
  t.equal(timers, before)
  t.same(failures, [])
  t.notOk((await readdir(join(folder, 'state-1'))).includes('DAMAGED'))
})
