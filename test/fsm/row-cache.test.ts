/** Rows kept in memory: never older than the state that asks, never newer either, and not too many. */
import t from 'tap'
import fc from '../support/fast-check.ts'
import { pack } from '../../src/fsm/codec.ts'
import { notKept } from '../../src/fsm/kept-row.ts'
import { RowCache, type Written } from '../../src/fsm/row-cache.ts'
import { things, toyMachine, ToyLog, type Thing } from './toy.ts'

/** What a batch did: null removes the row, `notKept` in `as` leaves it to be unpacked. */
function change(key: string, row: unknown, as = row): Written {
  const bytes = row === null ? null : pack(row)
  return { rows: new Map([[key, bytes]]), written: new Map([[key, as]]) }
}

t.test('a row is good from the state it was seen in until it changes', async (t) => {
  const cache = new RowCache()
  t.equal(cache.get('a', 5), undefined)
  cache.add('a', 10, { n: 1 }, 5)
  t.equal(cache.get('a', 4), undefined, 'an older state does not see it')
  t.same(cache.get('a', 5), { n: 1 })
  t.same(cache.get('a', 9), { n: 1 })
  cache.changed(change('a', { n: 2 }, notKept), 10)
  t.equal(cache.get('a', 9), undefined, 'a state from before the change asks the store')
  t.same(cache.get('a', 10), { n: 2 })
  t.equal(cache.get('a', 10), cache.get('a', 11), 'decoded once')
  cache.changed(change('a', null), 12)
  t.equal(cache.get('a', 12), undefined)
})

t.test('a row that was written is known from then on, of those that nobody read', async (t) => {
  const cache = new RowCache()
  const row = { n: 1 }
  cache.changed(change('a', row), 3)
  t.equal(cache.get('a', 2), undefined)
  t.equal(cache.get('a', 3), row)
  cache.changed(change('b', { n: 1 }, notKept), 4)
  t.equal(cache.get('b', 4), undefined, 'unless it would have to be unpacked')
  cache.changed(change('a', { n: 2 }, notKept), 5)
  t.same(cache.get('a', 5), { n: 2 })
})

t.test('a row that grows counts as it is', async (t) => {
  const cache = new RowCache(20_000)
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    cache.changed(change(key, ''), 1)
    cache.changed(change(key, 'x'.repeat(4_000)), 2)
    cache.get(key, 2)
  }
  t.equal(cache.get('a', 2), undefined)
  t.ok(cache.get('g', 2))
})

t.test('what was used lately stays, the rest goes', async (t) => {
  const cache = new RowCache(20_000)
  const bytes = 310
  cache.add('used', bytes, 'used', 1)
  for (let n = 0; n < 500; n += 1) {
    cache.add(`passing ${n}`, bytes, n, 1)
    if (n % 10 === 0) t.equal(cache.get('used', 1), 'used')
  }
  const left = Array.from({ length: 500 }, (_, n) => cache.get(`passing ${n}`, 1))
  t.ok(left.filter((row) => row !== undefined).length < 40)
  t.equal(left.at(-1), 499)
  cache.add('huge', 100_000, 'huge', 1)
  t.equal(cache.get('huge', 1), undefined, 'a very large row is not kept')
})

t.test('a view and the newest state each see their own value of a row', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  await machine.apply(log.put('a', 'x', 'one').take())
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'one')
  const view = machine.view()
  await machine.apply(log.put('a', 'x', 'two').take())
  t.equal(view.get(things, ['a', 'x'])?.value, 'one')
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'two')
  await machine.apply(log.command('toy.remove', { space: 'a', name: 'x' }).take())
  t.equal(view.get(things, ['a', 'x'])?.value, 'one')
  t.equal(machine.reader().get(things, ['a', 'x']), undefined)
  await machine.apply(log.put('a', 'x', 'three').take())
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'three')
  view.close()
})

t.test('a key without a row is known to have none until a row is written there', async (t) => {
  const cache = new RowCache()
  t.notOk(cache.isAbsent('a', 5))
  cache.addAbsent('a', 5)
  t.notOk(cache.isAbsent('a', 4), 'an older state may have had one')
  t.ok(cache.isAbsent('a', 5))
  cache.changed(change('b', 1), 6)
  t.ok(cache.isAbsent('a', 6))
  cache.changed(change('a', 1, notKept), 7)
  t.notOk(cache.isAbsent('a', 7))
  cache.addAbsent('used', 7)
  for (let n = 0; n < 1_000; n += 1) {
    cache.addAbsent(`passing ${n}`, 7)
    if (n % 100 === 0) t.ok(cache.isAbsent('used', 7), 'what is asked for often stays')
  }
  t.notOk(cache.isAbsent('passing 0', 7), 'and the oldest goes')
})

t.test('a row that was looked for in vain is found once it is written', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  await machine.apply(log.put('a', 'other', 'one').take())
  t.equal(machine.reader().get(things, ['a', 'x']), undefined)
  t.equal(machine.reader().get(things, ['a', 'x']), undefined)
  const view = machine.view()
  await machine.apply(log.put('a', 'x', 'one').take())
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'one')
  t.equal(view.get(things, ['a', 'x']), undefined)
  view.close()
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'one')
  await machine.apply(log.command('toy.remove', { space: 'a', name: 'x' }).take())
  t.equal(machine.reader().get(things, ['a', 'x']), undefined)
  await machine.apply(log.put('a', 'x', 'two').take())
  t.equal(machine.reader().get(things, ['a', 'x'])?.value, 'two')
})

t.test('readers of every state see what a plain map would hold', async (t) => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    value: fc.option(fc.constantFrom('one', 'two', 'three \ud83d\ude00'), { nil: null, freq: 3 }),
    tag: fc.constantFrom('left', 'right', null),
  })
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('apply'), steps: fc.array(step) }) },
    fc.record({ type: fc.constantFrom('view', 'settle') }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
      const machine = await toyMachine(t)
      const log = new ToyLog(machine)
      const now = new Map<string, string>()
      const views: { view: ReturnType<typeof machine.view>; held: Map<string, string> }[] = []
      for (const taken of actions) {
        if (taken.type === 'view') views.push({ view: machine.view(), held: new Map(now) })
        // All that was applied is in the store afterwards.
        if (taken.type === 'settle') await machine.digest()
        if ('steps' in taken && taken.steps.length > 0) {
          for (const { name, value, tag } of taken.steps) {
            if (value === null) {
              log.command('toy.remove', { space: 's', name })
              now.delete(name)
            } else {
              log.command('toy.put', { space: 's', name, value, tag })
              now.set(name, value)
            }
          }
          await machine.apply(log.take())
        }
        for (const { view, held } of [{ view: machine.reader(), held: now }, ...views]) {
          for (const name of ['a', 'b', 'c']) {
            t.equal(view.get(things, ['s', name])?.value, held.get(name))
          }
        }
      }
      const byTag: Thing[] = []
      for (const tag of ['left', 'right']) {
        const range = { prefix: [tag] }
        for await (const page of machine.reader().pagesBy(things, 'tag', range)) byTag.push(...page)
      }
      const tagged = [...now.keys()].filter((name) => {
        return (machine.reader().get(things, ['s', name])?.tag ?? null) !== null
      })
      t.same(byTag.map(({ name }) => name).sort(), tagged.sort(), 'indexes have no other rows')
      for (const { view } of views) view.close()
      await machine.close()
    }),
    { numRuns: 60 },
  )
})

t.test('less room takes effect at once, more from then on', async (t) => {
  const cache = new RowCache(20_000)
  const names = Array.from({ length: 15 }, (_, n) => `row ${n}`)
  const fill = () => names.forEach((name) => cache.add(name, 300, name, 1))
  const kept = () => names.filter((name) => cache.get(name, 1) === name)
  fill()
  t.same(kept(), names)
  cache.resize(4_000)
  t.same(kept(), [])
  fill()
  t.ok(kept().length < 8, 'there is no room for all of them')
  const some = kept()
  cache.resize(20_000)
  t.same(kept(), some, 'what is there stays')
  fill()
  t.same(kept(), names)
})
