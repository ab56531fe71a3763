/** A change may bring the row that it replaces, as the entry's reader found it: indexes stay in step, whatever the entry changed since. */
import t from 'tap'
import { Type, type Static } from 'typebox'
import type { Change, Domain, Table } from '../../src/fsm/domain.ts'
import { toyMachine, ToyLog } from './toy.ts'

const Place = Type.Object({ id: Type.String(), at: Type.String() })
type Place = Static<typeof Place>

const places: Table<Place> = {
  name: 'places',
  row: Place,
  key: ({ id }) => [id],
  indexes: { byPlace: ({ at }) => [at] },
}

/** Steps of one entry, which all bring the row as it was before the entry: 'a' puts it at a, '-' removes it. */
const Move = Type.Object({ id: Type.String(), steps: Type.Array(Type.String()) })

const moving: Domain = {
  name: 'moving',
  tables: [places],
  commands: {
    'places.move': {
      args: Move,
      load: (reader, { id }: Static<typeof Move>) => reader.get(places, [id]),
      apply: (_context, { id, steps }: Static<typeof Move>, before: Place | undefined) => ({
        changes: steps.map((at): Change => {
          const row = { id, at }
          if (at === '-') return { type: 'delete', table: places, key: [id], before }
          return { type: 'put', table: places, row, before }
        }),
        outcome: null,
      }),
    },
  },
}

const cases: readonly (readonly [text: string, entries: readonly string[], end: string | null])[] =
  [
    ['put over nothing', ['a'], 'a'],
    ['put over a row', ['a', 'b'], 'b'],
    ['put twice in one entry', ['a', 'bc'], 'c'],
    ['removed and put again', ['a', 'b-c'], 'c'],
    ['put and removed', ['a', 'bc-'], null],
    ['removed twice', ['a', '--'], null],
    ['in its place', ['a', 'ba'], 'a'],
  ]

for (const batches of ['each entry in a batch', 'all entries in one batch']) {
  void t.test(`${batches}: rows and their indexes agree`, async (t) => {
    for (const [text, entries, end] of cases) {
      const machine = await toyMachine(t, { domains: [moving] })
      const log = new ToyLog(machine)
      for (const steps of entries) {
        log.command('places.move', { id: 'x', steps: steps.split('') })
        if (batches === 'each entry in a batch') await machine.apply(log.take())
      }
      await machine.apply(log.take())
      const reader = machine.reader()
      const found: Place[] = []
      for await (const page of reader.pagesBy(places, 'byPlace')) found.push(...page)
      const wanted = end === null ? [] : [{ id: 'x', at: end }]
      t.same(found, wanted, text)
      t.same(reader.get(places, ['x']) ?? null, wanted[0] ?? null)
      await machine.close()
    }
  })
}
