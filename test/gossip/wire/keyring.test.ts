/** Sealing and opening, and the exchange of keys. */
import t from 'tap'
import { codeOf } from '../../../src/lib/errors.ts'
import { Keyring, keysMax, looksSealed, sealedBytes } from '../../../src/gossip/wire/keyring.ts'
import { hex, hexOf } from './hex.ts'

const key = (fill: number, length = 32): Uint8Array => new Uint8Array(length).fill(fill)
const plain = Buffer.from('sixteen bytes or')
const context = Buffer.from('label')

function refusal(run: () => void): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return codeOf(error)
  }
}

await t.test('keys of 16, 24 and 32 bytes seal, in both versions', (t) => {
  for (const length of [16, 24, 32]) {
    const ring = new Keyring(key(1, length))
    for (const version of [0, 1] as const) {
      for (const size of [0, 1, 15, 16, 17, 1400]) {
        const message = new Uint8Array(size).fill(3)
        const sealed = ring.seal(message, context, version)
        t.equal(sealed[0], version)
        t.equal(sealed.length, sealedBytes(size, version), `${size} bytes in version ${version}`)
        t.ok(looksSealed(sealed))
        t.equal(hexOf(ring.open(sealed, context) ?? key(9)), hexOf(message))
      }
    }
  }
  t.end()
})

await t.test('a sealed message of known bytes is opened', (t) => {
  // Test case 4 of the GCM specification, its 20 bytes of context included.
  const ring = new Keyring(hex('feffe9928665731c6d6a8f9467308308'))
  const sealed = hex(`01 cafebabefacedbaddecaf888
    42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
    21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091
    5bc94fbc3221a5db94fae95ae7121a47`)
  const opened = ring.open(sealed, hex('feedfacedeadbeeffeedfacedeadbeefabaddad2'))
  t.match(hexOf(opened ?? key(0)), /^d9313225f88406e5a55909c5aff5269a.*b16aedf5aa0de657ba637b39$/)
  t.end()
})

await t.test('another key, another context, a changed byte: nothing is opened', (t) => {
  const ring = new Keyring(key(1))
  for (const version of [0, 1] as const) {
    const sealed = ring.seal(plain, context, version)
    t.equal(new Keyring(key(2)).open(sealed, context), null)
    t.equal(ring.open(sealed, Buffer.from('other')), null)
    // The version alone is not protected; the padding it is about follows the message, where nothing is looked at.
    for (let at = 1; at < sealed.length; at++) {
      const changed = new Uint8Array(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      t.equal(ring.open(changed, context), null, `byte ${at}`)
    }
    for (let cut = 0; cut < sealed.length; cut++) {
      t.equal(ring.open(sealed.subarray(0, cut), context), null, `cut to ${cut}`)
    }
  }
  t.end()
})

await t.test('keys are exchanged while both sides go on', (t) => {
  const one = new Keyring(key(1))
  const two = new Keyring(key(1))
  const passes = (from: Keyring, to: Keyring): boolean =>
    to.open(from.seal(plain, context), context) !== null
  for (const ring of [one, two]) {
    ring.install(key(2))
    t.ok(passes(one, two) && passes(two, one), 'one more key to open with')
  }
  for (const ring of [one, two]) {
    ring.use(key(2))
    t.ok(passes(one, two) && passes(two, one), 'the new key seals on one side, then on both')
  }
  for (const ring of [one, two]) {
    ring.remove(key(1))
    t.ok(passes(one, two) && passes(two, one), 'the old key is gone')
  }
  t.same(one.list(), [key(2)])
  t.notOk(passes(new Keyring(key(1)), one))
  t.end()
})

await t.test('the ring refuses what would break it, and repeats nothing secret', (t) => {
  const ring = new Keyring(key(1), [key(2)])
  t.equal(
    refusal(() => new Keyring(key(1, 20))),
    'invalid_argument',
  )
  t.equal(
    refusal(() => ring.install(key(1, 0))),
    'invalid_argument',
  )
  t.equal(
    refusal(() => ring.use(key(3))),
    'not_found',
  )
  t.equal(
    refusal(() => ring.remove(key(1))),
    'conflict',
  )
  t.equal(
    refusal(() => ring.remove(key(9))),
    'none',
    'a key that is not there',
  )
  ring.install(key(2))
  t.same(ring.list(), [key(1), key(2)], 'installed twice, there once')
  for (let fill = 3; fill <= keysMax; fill++) ring.install(key(fill))
  t.equal(
    refusal(() => ring.install(key(0))),
    'too_large',
  )
  t.end()
})
