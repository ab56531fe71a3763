import t from 'tap'
import { isPlainValue, plainValuesMax } from '../../src/rpc/plain-value.ts'

void t.test('so many values are looked at, however small they are', async (t) => {
  const listOf = (count: number, value: number): Buffer => {
    const bytes = Buffer.alloc(5 + count, value)
    bytes.writeUInt8(0xdd)
    bytes.writeUInt32BE(count, 1)
    return bytes
  }
  for (const empty of [0x80, 0x90, 0xc0]) {
    t.ok(isPlainValue(listOf(plainValuesMax - 1, empty)))
    t.notOk(isPlainValue(listOf(plainValuesMax, empty)))
  }
})
