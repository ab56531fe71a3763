import t from 'tap'
import { DiskGate, isRefusal, retryRefusedMs } from '../../src/lib/disk-gate.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { manualClock } from '../support/manual-clock.ts'

function failure(code: string, message = code): Error {
  return Object.assign(new Error(message), { code })
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

function gateWithLines() {
  const clock = manualClock()
  const lines: string[] = []
  const note = (message: string, fields = {}) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`)
  const gate = new DiskGate({ clock, logger: { ...silentLogger, info: note, error: note } })
  const changes: boolean[] = []
  gate.onChange(() => changes.push(gate.refusing))
  return { clock, lines, gate, changes }
}

await t.test('what a full or read-only disk says is a refusal, and nothing else', (t) => {
  const level = (message: string) =>
    failure('LEVEL_IO_ERROR', `IO error: /s/000005.log: ${message}`)
  const rows: readonly (readonly [unknown, boolean])[] = [
    [failure('ENOSPC'), true],
    [failure('EDQUOT'), true],
    [failure('EROFS'), true],
    [failure('EIO'), false],
    [failure('ENOENT'), false],
    [level('No space left on device'), true],
    [level('Disk quota exceeded'), true],
    [level('Read-only file system'), true],
    [level('Input/output error'), false],
    [new Error('No space left on device'), false],
    [new MusterError('internal', 'x', { cause: failure('ENOSPC') }), true],
    [new MusterError('internal', 'x', { cause: failure('EIO') }), false],
    ['ENOSPC', false],
  ]
  for (const [error, expected] of rows) t.equal(isRefusal(error), expected, String(error))
  t.end()
})

await t.test('a refused write is tried until it is taken; the log says so once', async (t) => {
  const { clock, lines, gate, changes } = gateWithLines()
  let attempts = 0
  const written = gate.outlast('log', failure('ENOSPC', 'no room'), () => {
    attempts += 1
    return attempts < 5 ? Promise.reject(failure('ENOSPC')) : Promise.resolve('written')
  })
  t.ok(gate.refusing)
  for (let i = 0; i < 5; i += 1) {
    t.equal(attempts, i)
    clock.advance(retryRefusedMs)
    await settled()
  }
  t.equal(await written, 'written')
  t.notOk(gate.refusing)
  t.same(changes, [true, false])
  t.same(lines, [
    'the disk refuses a write; it is tried again until it is taken {"part":"log","reason":"no room"}',
    'the disk took the write that it had refused {"part":"log","forMs":2500}',
  ])
})

await t.test('it is refusing until log and state are both written', async (t) => {
  const { clock, gate, changes } = gateWithLines()
  let full = true
  const log = gate.outlast('log', failure('ENOSPC'), () => Promise.resolve())
  const state = gate.outlast('state', failure('EROFS'), () =>
    full ? Promise.reject(failure('EROFS')) : Promise.resolve(),
  )
  clock.advance(retryRefusedMs)
  await log
  await settled()
  t.ok(gate.refusing)
  full = false
  clock.advance(retryRefusedMs)
  await state
  t.same(changes, [true, false])
})

await t.test('another failure is not outlasted, at first or later', async (t) => {
  const { clock, gate, changes } = gateWithLines()
  await t.rejects(
    gate.outlast('log', failure('EIO'), () => Promise.resolve()),
    { code: 'EIO' },
  )
  t.same(changes, [])
  const later = gate.outlast('log', failure('ENOSPC'), () => Promise.reject(failure('EIO')))
  clock.advance(retryRefusedMs)
  await t.rejects(later, { code: 'EIO' })
  t.ok(gate.refusing, 'nothing was taken')
})

await t.test('a gate that is closed lets nobody wait', async (t) => {
  const { gate } = gateWithLines()
  const never = () => Promise.reject(failure('ENOSPC'))
  const waiting = gate.outlast('log', failure('ENOSPC'), never)
  gate.close()
  await t.rejects(waiting, { code: 'unavailable', cause: { code: 'ENOSPC' } })
  await t.rejects(gate.outlast('log', failure('ENOSPC'), never), { code: 'unavailable' })
})

await t.test('what is held counts as refused until it is released', (t) => {
  const { lines, gate, changes } = gateWithLines()
  gate.hold('folder')
  gate.hold('folder')
  t.ok(gate.refusing)
  gate.release('folder')
  gate.release('folder')
  t.notOk(gate.refusing)
  t.same(changes, [true, false])
  t.same(lines, [], 'who holds it says so')
  t.end()
})

await t.test('who waits for a part that is held waits for its release alone', async (t) => {
  const { clock, gate } = gateWithLines()
  await gate.released('folder')
  gate.hold('folder')
  gate.hold('state')
  let isReleased = false
  const waiting = gate.released('folder').then(() => (isReleased = true))
  clock.advance(retryRefusedMs)
  await settled()
  t.notOk(isReleased)
  gate.release('folder')
  clock.advance(retryRefusedMs)
  await waiting
  gate.hold('folder')
  const closed = t.rejects(gate.released('folder'), { code: 'unavailable' })
  gate.close()
  await closed
})
