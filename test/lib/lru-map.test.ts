/** At its bound the map evicts the least recently used entry, and no other. */
import fc from '../support/fast-check.ts'
import t from 'tap'
import { LruMap } from '../../src/lib/lru-map.ts'

/** The same, told by a list: the least recently used comes first. */
class ListedMap {
  readonly #max: number
  #entries: (readonly [key: number, value: number])[] = []

  constructor(max: number) {
    this.#max = max
  }

  get(key: number): number | undefined {
    const found = this.#entries.find(([known]) => known === key)
    if (found === undefined) return undefined
    this.set(...found)
    return found[1]
  }

  set(key: number, value: number): void {
    this.delete(key)
    this.#entries = [...this.#entries, [key, value] as const].slice(-this.#max)
  }

  delete(key: number): void {
    this.#entries = this.#entries.filter(([known]) => known !== key)
  }

  clear(): void {
    this.#entries = []
  }
}

const key = fc.integer({ min: 0, max: 9 })
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('get' as const), key }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('set' as const), key }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('clear' as const), key }) },
)

void t.test('it answers as a list in the order of use does', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
      const map = new LruMap<number, number>(max)
      const listed = new ListedMap(max)
      for (const [value, { type, key }] of steps.entries()) {
        for (const one of [map, listed]) {
          if (type === 'set') one.set(key, value)
          else if (type === 'delete') one.delete(key)
          else if (type === 'clear') one.clear()
        }
        if (type === 'get' && map.get(key) !== listed.get(key)) return false
      }
      return Array.from({ length: 10 }, (_, at) => map.get(at) === listed.get(at)).every(Boolean)
    }),
    { numRuns: 500 },
  )
})

void t.test('an entry that is used stays, however many come', async (t) => {
  const map = new LruMap<string, string>(3)
  map.set('used', 'u')
  for (let n = 0; n < 100; n += 1) {
    map.set(`passing ${n}`, 'p')
    t.equal(map.get('used'), 'u')
  }
  t.equal(map.get('passing 99'), 'p')
  t.equal(map.get('passing 97'), undefined)
})
