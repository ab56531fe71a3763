import t from 'tap'
import { randomBytes } from 'node:crypto'
import { Sealer, unwrapKey, wrapKey } from '../../../src/domains/variables/seal.ts'
import type { Items } from '../../../src/domains/variables/model.ts'
import { clusterKeyOf } from '../../../src/domains/variables/cluster-key.ts'

const key = { id: 'k1', bytes: randomBytes(32) }
const owner = { namespace: 'default', path: 'app/db' }
const items: Items = [
  ['user', 'ada'],
  ['__proto__', 'x'],
  ['', '\0 é 😀'],
]

void t.test('what is sealed opens again, also by another process', (t) => {
  const sealed = new Sealer().seal(items, key, owner)
  t.same(new Sealer().open(sealed, key, owner), items)
  t.notOk(sealed.includes('ada'))
  t.end()
})

void t.test('the same items never seal to the same bytes', (t) => {
  const sealer = new Sealer()
  const seen = new Set<string>()
  for (let round = 0; round < 500; round++) {
    const sealed = sealer.seal(items, key, owner)
    seen.add(sealed.subarray(1, 29).toString('hex'))
  }
  seen.add(new Sealer().seal(items, key, owner).subarray(1, 29).toString('hex'))
  t.equal(seen.size, 501, 'salt and nonce together are used once')
  t.end()
})

void t.test('nothing passes for another variable or another key', (t) => {
  const sealer = new Sealer()
  const sealed = sealer.seal(items, key, owner)
  const others = [
    [key, { namespace: 'prod', path: 'app/db' }],
    [key, { namespace: 'default', path: 'app/dc' }],
    [key, { namespace: 'defaulta', path: 'pp/db' }],
    [{ ...key, id: 'k2' }, owner],
    [{ id: 'k3', bytes: randomBytes(32) }, owner],
  ] as const
  for (const [otherKey, otherOwner] of others) {
    t.throws(() => sealer.open(sealed, otherKey, otherOwner), { code: 'corrupt' })
  }
  t.end()
})

void t.test('every flipped bit and every cut is noticed', (t) => {
  const sealer = new Sealer()
  const sealed = sealer.seal([['k', 'v']], key, owner)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    try {
      sealer.open(flipped, key, owner)
      t.fail(`bit ${bit} was flipped unnoticed`)
    } catch (error) {
      if (bit >= 8) t.match(error, { code: 'corrupt' })
    }
  }
  for (let length = 0; length < sealed.length; length++) {
    t.throws(() => sealer.open(sealed.subarray(0, length), key, owner), { code: 'corrupt' })
  }
  t.end()
})

void t.test('a newer format says so', (t) => {
  const sealed = new Sealer().seal(items, key, owner)
  sealed[0] = 2
  t.throws(() => new Sealer().open(sealed, key, owner), { code: 'incompatible' })
  t.end()
})

void t.test('a data key opens only under its cluster key and id', (t) => {
  const clusterKey = clusterKeyOf(randomBytes(32))
  const wrapped = wrapKey(key.bytes, 'k1', clusterKey)
  t.same(unwrapKey(wrapped, 'k1', clusterKey), key.bytes)
  t.notOk(wrapped.includes(key.bytes))
  t.throws(() => unwrapKey(wrapped, 'k2', clusterKey), { code: 'corrupt' })
  t.throws(() => unwrapKey(wrapped, 'k1', clusterKeyOf(randomBytes(32))), { code: 'corrupt' })
  wrapped[20] = (wrapped[20] ?? 0) ^ 1
  t.throws(() => unwrapKey(wrapped, 'k1', clusterKey), { code: 'corrupt' })
  t.end()
})
