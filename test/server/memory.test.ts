/** Caches shrink while a server takes more memory than its target, and grow again when that is over for good. */
import t from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { calmLooks, Memory, memoryLookMs } from '../../src/server/memory.ts'
import { manualClock } from '../support/manual-clock.ts'

const MiB = 2 ** 20

function watched() {
  const clock = manualClock()
  const told: boolean[] = []
  const lines: string[] = []
  const note = (message: string) => void lines.push(message)
  let taken = 100 * MiB
  const memory = new Memory({
    targetBytes: 200 * MiB,
    bytes: () => taken,
    short: (isShort) => void told.push(isShort),
    clock,
    logger: { ...silentLogger, warn: note, info: note },
  })
  memory.start()
  const takes = (mebibytes: number, looks = 1) => {
    taken = mebibytes * MiB
    for (let n = 0; n < looks; n += 1) clock.advance(memoryLookMs)
  }
  return { memory, told, lines, takes }
}

t.test('a server that gets by says nothing', async (t) => {
  const { memory, told, lines, takes } = watched()
  takes(200, 3)
  t.equal(memory.bytes, 200 * MiB)
  t.equal(memory.isShort, false)
  t.equal(memory.warning, null)
  t.same([told, lines], [[], []])
})

t.test('one that does not says so once, for as long as it lasts', async (t) => {
  const { memory, told, lines, takes } = watched()
  takes(260, 3)
  t.same(told, [true])
  t.equal(lines.length, 1)
  t.equal(
    memory.warning,
    '260 MiB of memory, and server.memory_target is 200 MiB: caches are kept small',
  )
  takes(190, 2 * calmLooks)
  t.same(told, [true], 'just below the target it would be short again at once')
  takes(170, calmLooks - 1)
  takes(201)
  takes(170, calmLooks - 1)
  t.same(told, [true], 'nor after a short rest')
  takes(170)
  t.same(told, [true, false])
  t.equal(memory.warning, null)
  t.equal(lines.length, 2)
})

t.test('it looks no more once it is stopped', async (t) => {
  const { memory, told, takes } = watched()
  memory.stop()
  takes(300, 3)
  t.same(told, [])
})
