/** What the owner of a lock hears of its watchdog. */
import t from 'tap'
import { Guard } from '../../../src/cli/lock/guard.ts'

/** A stand-in that says these words once it is told that the group has ended. */
function standIn(...words: readonly string[]): Promise<Guard> {
  const last = words.map((word) => `${word}\n`).join('')
  const script = `
    console.log('ready')
    process.stdin.once('data', () => process.stdout.write(${JSON.stringify(last)}, () => process.exit()))`
  return Guard.start([process.execPath, '-e', script])
}

void t.test('a watchdog that had nothing to do has not fired', async (t) => {
  const guard = await standIn()
  await guard.stop()
  t.notOk(guard.hasFired)
})

void t.test('what it said last is heard before its end', async (t) => {
  for (let round = 0; round < 10; round += 1) {
    const guard = await standIn('kill')
    t.notOk(guard.hasFired)
    await guard.stop()
    t.ok(guard.hasFired, 'so its owner knows who ended the command')
  }
})
