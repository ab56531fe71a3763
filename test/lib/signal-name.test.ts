/** A signal has one name, however it is written. */
import { constants } from 'node:os'
import t from 'tap'
import { fullSignalName, isLinuxSignal } from '../../src/lib/signal-name.ts'

t.test('letter case and SIG do not matter', async (t) => {
  for (const name of ['SIGINT', 'sigint', 'int', 'Int']) t.equal(fullSignalName(name), 'SIGINT')
  for (const name of ['usr1', 'SIGKILL', 'sighup']) t.ok(isLinuxSignal(name), name)
  for (const name of ['', 'SIG', 'SIGFOO', 'SIGSIGINT', '9']) t.notOk(isLinuxSignal(name), name)
})

t.test('it knows what this system does', { skip: process.platform !== 'linux' }, async (t) => {
  for (const name of Object.keys(constants.signals)) t.ok(isLinuxSignal(name), name)
})
