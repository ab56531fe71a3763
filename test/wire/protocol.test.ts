import t from 'tap'
import { wireType } from '../../src/wire/protocol.ts'

/** A message with one number of 64 bits: its tag, and the number in groups of seven bits, the lowest first. */
const acks = wireType<{ readonly received: number }>('muster.raft.RaftAck')

t.test('numbers of all lengths come back as they went', async (t) => {
  const numbers = [0, 1, 42]
  for (let bits = 7; bits <= 53; bits += 1) numbers.push(2 ** bits - 1)
  for (let bits = 7; bits <= 52; bits += 1) numbers.push(2 ** bits)
  for (const received of numbers) {
    t.equal(acks.decode(acks.encode({ received })).received, received)
  }
})

t.test(
  'numbers in more bytes than they need are read, and ends in the middle of one are not',
  async (t) => {
    const tag = acks.encode({ received: 1 })[0] ?? 0
    const of = (...bytes: number[]) => acks.decode(Buffer.from([tag, ...bytes])).received
    t.equal(of(0x81, 0x80, 0x00), 1)
    t.equal(of(0x81, 0x80, 0x80, 0x80, 0x80, 0x00), 1)
    t.equal(of(0xff, 0xff, 0xff, 0xff, 0x07), 2 ** 31 - 1)
    t.equal(of(0x80, 0x80, 0x80, 0x80, 0x08), 2 ** 31)
    for (let length = 0; length <= 10; length += 1) {
      t.throws(() => of(...Array.from({ length }, () => 0x80)), `${length} bytes without an end`)
    }
    t.ok(of(...Array.from({ length: 9 }, () => 0xff), 0x01) > Number.MAX_SAFE_INTEGER)
  },
)
