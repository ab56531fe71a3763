/** LZW against golden bytes of another program and against a second, simple decoder. */
import t from 'tap'
import { randomInteger, seededRandom, type Random } from '../../../src/lib/random.ts'
import { compress, decompress } from '../../../src/gossip/wire/lzw.ts'
import { hex, hexOf } from './hex.ts'

const plainMax = 1 << 20

/** What LZW is, with a table of whole texts and no thought of speed. */
function simpleDecompress(input: Uint8Array): Uint8Array {
  const bit = (index: number): number => ((input[index >> 3] ?? 0) >> (index & 7)) & 1
  const texts: string[] = []
  const output: string[] = []
  let table: string[] = []
  let width = 9
  let at = 0
  for (;;) {
    if (at + width > input.length * 8) throw new Error('no end code')
    let code = 0
    for (let index = 0; index < width; index++) code += bit(at + index) * 2 ** index
    at += width
    if (code === 257) return Buffer.from(output.join(''), 'latin1')
    if (code === 256) {
      table = Array.from({ length: 258 }, (_, index) => String.fromCharCode(index))
      texts.length = 0
      width = 9
      continue
    }
    const last = texts.at(-1)
    const known = table[code]
    const text = known ?? `${last}${last?.[0]}`
    if (last !== undefined && table.length < 4096) table.push(last + (text[0] ?? ''))
    texts.push(text)
    output.push(text)
    // The entry of the code that is being read now is still missing.
    if (table.length + 1 > 2 ** width && width < 12) width += 1
  }
}

function plains(random: Random): readonly (readonly [string, Uint8Array])[] {
  const noise = (length: number, letters: number): Uint8Array =>
    Uint8Array.from({ length }, () => randomInteger(random, 0, letters))
  return [
    ['nothing', new Uint8Array()],
    ['one byte', Uint8Array.of(0)],
    ['a repeated byte', new Uint8Array(5000).fill(7)],
    ['every byte', Uint8Array.from({ length: 256 }, (_, index) => index)],
    ['around the first change of width', noise(254, 256)],
    ['around the first change of width, one more', noise(255, 256)],
    ['around the first change of width, two more', noise(256, 256)],
    ['a few letters', noise(10_000, 3)],
    ['text', Buffer.from('the quick brown fox jumps over the lazy dog. '.repeat(300))],
    ['a full table', noise(3838, 256)],
    ['noise that fills the table many times', noise(40_000, 256)],
    ['mixed, 300 KB', noise(300_000, 20)],
  ]
}

await t.test('what is compressed comes back, by this decoder and by a simple one', (t) => {
  const seed = 20_241
  for (const [what, plain] of plains(seededRandom(seed))) {
    const packed = compress(plain)
    t.equal(hexOf(simpleDecompress(packed)), hexOf(plain), `${what}, simple, seed ${seed}`)
    const back = decompress(packed, plainMax)
    t.ok(back instanceof Uint8Array && Buffer.compare(back, plain) === 0, what)
  }
  t.end()
})

await t.test('every length from 0 to 700 comes back: no change of width is off by one', (t) => {
  const random = seededRandom(7)
  const wrong: number[] = []
  for (let length = 0; length <= 700; length++) {
    const plain = Uint8Array.from({ length }, () => randomInteger(random, 0, 256))
    const back = decompress(compress(plain), length)
    if (!(back instanceof Uint8Array) || Buffer.compare(back, plain) !== 0) wrong.push(length)
  }
  t.same(wrong, [])
  t.end()
})

await t.test('what serf 0.9.4 compressed is read, and compressed to the same bytes', (t) => {
  const packed = hex(`000f08006009001101824e41099387cd9b3064b40110148090aa2064d4d49943a74d193774
    960118497264a92272e4bc91b3ec07be92234d212993e60c9a903ec8e1ab85681c9a78a3ac9419834924cc91468f26
    85b9b46453924f911e953ab5d49432719cbc4940c010298c64e490fa3332c0aa246ec68491e3260c9d346fdc0420d5
    a40c9d30abfe0522a5924d995177ca8821a5954c99507848415949a7591b1541e7b83115a0800001050a0404`)
  const plain = decompress(packed, plainMax)
  if (!(plain instanceof Uint8Array)) throw new Error('serf’s bytes are not read')
  t.equal(plain[0], 7, 'a compound')
  t.match(Buffer.from(plain).toString('latin1'), /Adjustment.*Height.*Incarnation/s)
  t.equal(hexOf(compress(plain)), hexOf(packed))
  t.end()
})

await t.test('codes that make no sense are refused', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['no end code', '00 01'],
    // 256, 65, then 300, which nobody defined; nine bits each, lowest first.
    ['an undefined code', '00 83 b0 04'],
    // 256, then 258 before any text.
    ['a repetition of nothing', '00 05 02'],
  ]
  for (const [what, bytes] of rows) t.equal(decompress(hex(bytes), plainMax), null, what)
  const packed = compress(new Uint8Array(1000))
  for (let cut = 0; cut < packed.length - 1; cut++) {
    t.equal(decompress(packed.subarray(0, cut), plainMax), null, `cut to ${cut}`)
  }
  t.end()
})

await t.test('no more comes out than is allowed', (t) => {
  const packed = compress(new Uint8Array(1_000_000))
  t.ok(packed.length < 4000, `a million bytes in ${packed.length}`)
  t.equal(decompress(packed, 999_999), 'too-large')
  t.ok(decompress(packed, 1_000_000) instanceof Uint8Array)
  t.end()
})

await t.test('random codes are decompressed or refused', (t) => {
  const seed = 99
  const random = seededRandom(seed)
  for (let round = 0; round < 3000; round++) {
    const bytes = Uint8Array.from({ length: randomInteger(random, 0, 200) }, () =>
      randomInteger(random, 0, 256),
    )
    // The clear code first, so that more than the first code is looked at.
    const result = decompress(Uint8Array.of(0, 1, ...bytes), 4096)
    if (result instanceof Uint8Array && result.length > 4096) t.fail(`seed ${seed}, ${round}`)
  }
  t.end()
})
