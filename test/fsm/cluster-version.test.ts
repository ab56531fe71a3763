/** The command version of a cluster: raised by an entry, never lowered, and refused by programs that do not know it. */
import t from 'tap'
import { temporaryFolder, toyMachine, ToyLog, transfer } from './toy.ts'

const refused = { code: 'incompatible', message: /runs at command version 2.*up to 1/ }

t.test('commands are as new as all servers agreed on', async (t) => {
  const folder = await temporaryFolder(t)
  const machine = await toyMachine(t, { folder, commandVersion: 2 })
  const later = { type: 'toy.later', args: { name: 'a' } }
  t.equal(machine.commandVersion, 1)
  t.throws(() => machine.encodeCommand(later), { code: 'not_implemented', message: /runs at 1/ })
  const log = new ToyLog(machine)
  t.same(await machine.apply(log.command('state.raiseVersion', { version: 2 }).take()), [2])
  t.equal(machine.commandVersion, 2)
  t.doesNotThrow(() => machine.encodeCommand(later))
  const lower = log.command('state.raiseVersion', { version: 1 }).take()
  t.same(await machine.apply(lower), [2], 'it never falls')
  await machine.close()
  await t.rejects(
    toyMachine(t, { folder, commandVersion: 1 }),
    refused,
    'an older program does not start on it',
  )
  const again = await toyMachine(t, { folder, commandVersion: 3 })
  t.equal(again.commandVersion, 2)
})

t.test('a snapshot brings it along, and not to an older program', async (t) => {
  const machine = await toyMachine(t, { commandVersion: 2 })
  await machine.apply(new ToyLog(machine).command('state.raiseVersion', { version: 2 }).take())
  const snapshot = await machine.snapshot()
  const newer = await toyMachine(t, { commandVersion: 2 })
  await transfer(snapshot, newer)
  t.equal(newer.commandVersion, 2)
  const older = await toyMachine(t, { commandVersion: 1 })
  await t.rejects(transfer(snapshot, older), refused)
  t.equal(older.appliedIndex, 0)
  await snapshot.close()
})

t.test('an older program stops at the entry that raises it', async (t) => {
  const newer = await toyMachine(t, { commandVersion: 2 })
  const raise = new ToyLog(newer).command('state.raiseVersion', { version: 2 }).take()
  const older = await toyMachine(t, { commandVersion: 1 })
  await t.rejects(older.apply(raise), refused)
  await t.rejects(older.apply(raise), refused, 'and stays stopped')
})
