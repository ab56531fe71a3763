/** Rows kept in memory: never older than the state that asks, never newer either, and not too many. */
import t from 'tap'
import { pack } from '../../src/fsm/codec.ts'
import { RowCache } from '../../src/fsm/row-cache.ts'
import { things, toyMachine, ToyLog } from './toy.ts'

t.test('a row is good from the state it was seen in until it changes', async (t) => {
  const cache = new RowCache()
  t.equal(cache.get('a', 5), undefined)
  cache.add('a', pack({ n: 1 }), { n: 1 }, 5)
  t.equal(cache.get('a', 4), undefined, 'an older state does not see it')
  t.same(cache.get('a', 5), { n: 1 })
  t.same(cache.get('a', 9), { n: 1 })
  cache.changed(new Map([['a', pack({ n: 2 })]]), 10)
  t.equal(cache.get('a', 9), undefined, 'a state from before the change asks the store')
  t.same(cache.get('a', 10), { n: 2 })
  t.equal(cache.get('a', 10), cache.get('a', 11), 'decoded once')
  cache.changed(new Map([['a', null]]), 12)
  t.equal(cache.get('a', 12), undefined)
})

t.test('rows that nobody read are not kept when they change', async (t) => {
  const cache = new RowCache()
  cache.changed(new Map([['a', pack({ n: 1 })]]), 1)
  cache.add('b', pack({ n: 1 }), { n: 1 }, 1)
  cache.changed(new Map([['a', pack({ n: 2 })]]), 2)
  t.equal(cache.get('a', 2), undefined)
})

t.test('what was used lately stays, the rest goes', async (t) => {
  const cache = new RowCache(20_000)
  const bytes = pack({ text: 'x'.repeat(300) })
  cache.add('used', bytes, 'used', 1)
  for (let n = 0; n < 500; n += 1) {
    cache.add(`passing ${n}`, bytes, n, 1)
    if (n % 10 === 0) t.equal(cache.get('used', 1), 'used')
  }
  const left = Array.from({ length: 500 }, (_, n) => cache.get(`passing ${n}`, 1))
  t.ok(left.filter((row) => row !== undefined).length < 40)
  t.equal(left.at(-1), 499)
  cache.add('huge', Buffer.alloc(100_000), 'huge', 1)
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
  cache.changed(new Map([['b', pack(1)]]), 6)
  t.ok(cache.isAbsent('a', 6))
  cache.changed(new Map([['a', pack(1)]]), 7)
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
