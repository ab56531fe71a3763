/** What a command is told waits until it reads, up to a bound, and waits for room leave nothing behind. */
import { Writable } from 'node:stream'
import t from 'tap'
import { CommandInput } from '../../../src/client-agent/drivers/command-input.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** Takes a chunk when the test says so. */
function reader() {
  const taken: (() => void)[] = []
  const to = new Writable({ write: (_chunk, _encoding, done) => void taken.push(() => done()) })
  const clock = manualClock()
  const left = () => ({
    timers: clock.timerCount,
    listeners: to.listenerCount('drain') + to.listenerCount('close'),
  })
  return { to, clock, input: new CommandInput(to, clock), read: () => taken.shift()?.(), left }
}

const nothingLeft = { timers: 0, listeners: 0 }
const chunk = Buffer.alloc(128 * 1_024)

t.test('what is not read is bounded, and there is room once it is read', async (t) => {
  const { input, read, clock, left } = reader()
  await input.room(2_000)
  t.same(
    [1, 2, 3, 4].map(() => input.write(chunk)),
    [true, true, true, false],
  )
  let hasRoom = false
  const room = input.room(2_000).then(() => (hasRoom = true))
  read()
  await new Promise(setImmediate)
  clock.advance(1_999)
  t.notOk(hasRoom)
  read()
  await new Promise(setImmediate)
  read()
  await room
  t.same(left(), nothingLeft)
  t.ok(input.write(chunk))
})

t.test('one that reads nothing, or ends, is not waited for', async (t) => {
  const { to, input, clock, left } = reader()
  input.write(chunk)
  for (let n = 0; n < 20; n += 1) {
    const late = input.room(2_000)
    t.same(left(), { timers: 1, listeners: 2 })
    clock.advance(2_000)
    await late
    t.same(left(), nothingLeft)
  }
  const ended = input.room(2_000)
  to.destroy()
  await ended
  t.same(left(), nothingLeft)
  t.ok(input.write(chunk), 'what ended takes all')
  await input.room(2_000)
})

t.test('after its end nothing is written', async (t) => {
  const { to, input } = reader()
  input.end()
  t.ok(input.write(chunk))
  t.equal(to.writableLength, 0)
})
