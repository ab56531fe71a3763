/** Those whose wait is over wake in small parts, in turn, and only while there is room. */
import t from 'tap'
import { turnMsMax, WakeQueue, type WakeRoom } from '../../src/rpc/wake-queue.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'

t.test('a turn takes about as long as it may, however much there is to wake', async (t) => {
  const clock = manualClock()
  const queue = new WakeQueue(() => clock.monotonicMs(), null)
  let woken = 0
  const turns: number[] = []
  let counted = 0
  const line = Array.from({ length: 2_000 }, () => ({
    go: () => {
      clock.advance(0.5)
      woken += 1
      return 'went' as const
    },
  }))
  queue.add(line, {})
  while (counted < 2_000) {
    await new Promise(setImmediate)
    turns.push(woken - counted)
    counted = woken
  }
  // Each takes half a millisecond: so many fit into a turn, and a step more before it is noticed.
  const fitting = turnMsMax / 0.5
  t.ok(turns.length > 50, 'other work came between')
  t.ok(
    turns.slice(3).every((count) => count <= fitting + 8),
    turns.slice(0, 20).join(' '),
  )
})

t.test('no line waits for a longer one', async (t) => {
  const queue = new WakeQueue(() => 0, null)
  const order: string[] = []
  const line = (name: string, count: number) =>
    Array.from({ length: count }, () => ({
      go: () => {
        order.push(name)
        return 'went' as const
      },
    }))
  queue.add(line('long', 1_000), {})
  queue.add(line('short', 2), {})
  await eventuallyTrue('all woke', () => order.length === 1_002)
  t.same(order.slice(0, 5), ['long', 'short', 'long', 'short', 'long'])
})

t.test('those that wait for the same go in the order in which they were woken', async (t) => {
  const queue = new WakeQueue(() => 0, null)
  const order: string[] = []
  const one = (name: string) => ({
    go: () => {
      order.push(name)
      return 'went' as const
    },
  })
  const query = {}
  queue.add([one('a1'), one('a2')], query)
  queue.add([one('b1'), one('b2')], query)
  queue.add([one('other 1'), one('other 2')], {})
  t.equal(queue.lineCount, 2)
  await eventuallyTrue('all woke', () => order.length === 6)
  t.same(order, ['a1', 'other 1', 'a2', 'other 2', 'b1', 'b2'])
  t.equal(queue.lineCount, 0)
  queue.add([one('again')], query)
  await eventuallyTrue('one that waits again wakes', () => order.length === 7)
})

t.test('who has left takes nobody’s turn', async (t) => {
  const queue = new WakeQueue(() => 0, null)
  let went = false
  const gone = Array.from({ length: 5_000 }, () => ({ go: () => 'gone' as const }))
  queue.add(
    [
      ...gone,
      {
        go: () => {
          went = true
          return 'went' as const
        },
      },
    ],
    {},
  )
  await new Promise(setImmediate)
  t.ok(went, 'in the first turn')
})

t.test('without room nobody wakes, and with it all go on', async (t) => {
  let tell: (() => void) | null = null
  const room: { -readonly [Name in keyof WakeRoom]: WakeRoom[Name] } = {
    full: true,
    whenRoom: (callback) => {
      tell = callback
    },
  }
  const queue = new WakeQueue(() => 0, room)
  let woken = 0
  queue.add(
    [
      {
        go: () => {
          woken += 1
          return 'went'
        },
      },
    ],
    {},
  )
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  t.equal(woken, 0)
  room.full = false
  t.ok(tell !== null)
  ;(tell as unknown as () => void)()
  await eventuallyTrue('it woke', () => woken === 1)
})
