/** Values byte by byte: what is written, what else is read, what is refused before anything is made for it. */
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { depthMax, readValue, type Read, type Value } from '../../../src/gossip/wire/msgpack.ts'
import { Writer } from '../../../src/gossip/wire/msgpack-writer.ts'
import { hex, hexOf } from './hex.ts'

const bounds = { valuesMax: 1000, stringBytesMax: 100_000 }

function read(bytes: Uint8Array): Read {
  return readValue(bytes, 0, bounds)
}

/** Strings as `'text'`, so that a whole value is one line. */
function shown(value: Value): string {
  if (value instanceof Uint8Array) return `'${Buffer.from(value).toString('latin1')}'`
  if (Array.isArray(value)) return `[${value.map((one: Value) => shown(one)).join(' ')}]`
  if (value instanceof Map) {
    return `{${[...value].map(([key, one]: [string, Value]) => `${key}:${shown(one)}`).join(' ')}}`
  }
  if (typeof value === 'object' && value !== null) return 'extension'
  return String(value)
}

await t.test('every form that Go reads is read', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['00', '0'],
    ['7f', '127'],
    ['ff', '-1'],
    ['e0', '-32'],
    ['cc ff', '255'],
    ['cd 0100', '256'],
    ['ce ffffffff', '4294967295'],
    ['cf 0000000100000000', '4294967296'],
    ['d0 80', '-128'],
    ['d1 8000', '-32768'],
    ['d2 80000000', '-2147483648'],
    ['d3 ffffffffffffffff', '-1'],
    ['d3 0000000300000000', '12884901888'],
    ['ca 3fc00000', '1.5'],
    ['cb 3ff8000000000000', '1.5'],
    ['c0', 'null'],
    ['c2', 'false'],
    ['c3', 'true'],
    ["a1'x'", "'x'"],
    ["da 0001'x'", "'x'"],
    ["db 00000001'x'", "'x'"],
    ["d9 01'x'", "'x'"],
    ["c4 01'x'", "'x'"],
    ["c5 0001'x'", "'x'"],
    ["c6 00000001'x'", "'x'"],
    ['92 01 a0', "[1 '']"],
    ['dc 0001 c0', '[null]'],
    ['dd 00000001 c0', '[null]'],
    ["81 a1'k' 01", '{k:1}'],
    ["de 0001 a1'k' 90", '{k:[]}'],
    ["df 00000001 c4 01'k' 80", '{k:{}}'],
    ['d4 01 00', 'extension'],
    ['d6 ff 00000000', 'extension'],
    ['c7 02 01 0000', 'extension'],
  ]
  for (const [bytes, wanted] of rows) {
    const result = read(hex(bytes))
    t.equal(result.type === 'value' ? shown(result.value) : result.type, wanted, bytes)
    for (let cut = 0; cut < hex(bytes).length; cut++) {
      t.equal(read(hex(bytes).subarray(0, cut)).type, 'incomplete', `${bytes} cut to ${cut}`)
    }
  }
})

await t.test('strings are written in the old raw family, integers as short as they go', (t) => {
  const rows: readonly (readonly [Writer, string])[] = [
    [new Writer().text('abc'), 'a3616263'],
    [new Writer().raw(new Uint8Array(31)).map(1), `bf${'00'.repeat(31)}81`],
    [new Writer().raw(new Uint8Array(32)), `da0020${'00'.repeat(32)}`],
    [new Writer().rawOrNil(null), 'c0'],
    [new Writer().unsigned(127).unsigned(128).unsigned(255), '7fcc80ccff'],
    [new Writer().unsigned(256).unsigned(65_535), 'cd0100cdffff'],
    [new Writer().unsigned(65_536), 'ce00010000'],
    [new Writer().unsigned(2 ** 53 - 1), 'cf001fffffffffffff'],
    [new Writer().map(15).map(16).array(15).array(16), '8fde00109fdc0010'],
    [new Writer().boolean(true).boolean(false).nil(), 'c3c2c0'],
  ]
  for (const [writer, wanted] of rows) t.equal(hexOf(writer.finish()), wanted)
  t.equal(hexOf(new Writer().raw(new Uint8Array(65_536)).finish().subarray(0, 5)), 'db00010000')
  t.end()
})

await t.test('a writer keeps what it has when it grows', (t) => {
  const writer = new Writer()
  for (let value = 0; value < 40; value++) writer.unsigned(2 ** 40 + value)
  const bytes = Buffer.from(writer.finish())
  for (let value = 0; value < 40; value++) {
    t.equal(Number(bytes.readBigUInt64BE(value * 9 + 1)), 2 ** 40 + value)
  }
  const single = new Writer()
  for (let value = 0; value < 600; value++) single.byte(value & 0x7f)
  t.ok(single.finish().every((value, index) => value === (index & 0x7f)))
  t.end()
})

await t.test('what is over a bound is refused from its header alone', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['a string', 'db ffffffff'],
    ['a list', 'dd ffffffff'],
    ['a map', 'df 80000000'],
    ['lists in lists', '91 '.repeat(depthMax + 1)],
    ['values in all', `dc 03e6 ${'91c0'.repeat(998)}`],
    ['a key that is no text', '81 01 01'],
    ['a key that is not UTF-8', '81 a1ff 01'],
    ['the byte that is never used', 'c1'],
  ]
  for (const [what, bytes] of rows) t.equal(read(hex(bytes)).type, 'broken', what)
  t.end()
})

await t.test('integers that a number cannot hold are no safe integers', (t) => {
  for (const bytes of ['cf 0020000000000001', 'cf ffffffffffffffff', 'd3 8000000000000000']) {
    const result = read(hex(bytes))
    t.notOk(result.type === 'value' && Number.isSafeInteger(result.value), bytes)
  }
  t.end()
})

await t.test('random bytes are read or refused, within the bytes that are there', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const result = read(bytes)
      return result.type !== 'value' || result.next <= bytes.length
    }),
    { numRuns: 3000 },
  )
  t.end()
})
