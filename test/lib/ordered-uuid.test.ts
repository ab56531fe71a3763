import t from 'tap'
import { orderedUuid } from '../../src/lib/ordered-uuid.ts'

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('it is a UUID of version 7 that begins with its time', async (t) => {
  const made = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
  const id = orderedUuid(made + 0.9)
  t.match(id, form)
  t.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), made)
})

t.test('later ones sort behind earlier ones, and no two are alike', async (t) => {
  const ids = Array.from({ length: 1_000 }, (_, at) => orderedUuid(1_700_000_000_000 + at * 7))
  t.same(ids.toSorted(), ids)
  t.equal(new Set(Array.from({ length: 1_000 }, () => orderedUuid(5))).size, 1_000)
})

t.test('a clock that is out of its mind still gives one', async (t) => {
  for (const ms of [-1, 2 ** 60, Infinity]) t.match(orderedUuid(ms), form)
})
