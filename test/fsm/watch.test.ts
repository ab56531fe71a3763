/** Watches: who wakes, who does not, and how much work a change costs. */
import t from 'tap'
import { Touched } from '../../src/fsm/touched.ts'
import { Watches } from '../../src/fsm/watch.ts'
import { namesOf, things, toyMachine, ToyLog } from './toy.ts'

function touching(keys: readonly string[], prefixes: readonly string[] = []): Touched {
  const touched = new Touched()
  for (const key of keys) touched.addKey(key, '')
  for (const prefix of prefixes) touched.addPrefix(prefix)
  return touched
}

t.test('a change wakes who read the key or a prefix of it, once, and nobody else', async (t) => {
  const watches = new Watches(0)
  const woken: string[] = []
  const park = (name: string, touched: Touched) => watches.park(touched, 0, () => woken.push(name))
  park('key', touching(['a/1']))
  park('prefix', touching([], ['a/']))
  park('both', touching(['a/1', 'b/1'], ['a/', 'c/']))
  park('other key', touching(['a/2']))
  park('other prefix', touching([], ['b/']))
  const leave = park('left', touching(['a/1']))
  leave()
  watches.changed(1, ['a/1'])
  t.same(woken.toSorted(), ['both', 'key', 'prefix'])
  watches.changed(2, ['a/1'])
  t.equal(woken.length, 3)
  t.equal(watches.stats().parked, 2)
  watches.allChanged(3)
  t.same(woken.slice(3).toSorted(), ['other key', 'other prefix'])
  t.equal(watches.stats().parked, 0)
})

t.test(
  'what changed between reading and parking wakes at once, but never inside of park',
  async (t) => {
    const watches = new Watches(0)
    watches.changed(5, ['a/1'])
    let woken = 0
    const wake = () => {
      woken += 1
    }
    watches.park(touching(['a/1']), 4, wake)
    watches.park(touching([], ['a/']), 4, wake)
    t.equal(woken, 0)
    await Promise.resolve()
    t.equal(woken, 2)
    watches.park(touching(['a/1'], ['a/']), 5, wake)
    watches.park(touching(['a/2'], ['b/']), 4, wake)
    await Promise.resolve()
    t.equal(woken, 2, 'nothing it touched changed since')
  },
)

t.test('whoever wakes may park again at once', async (t) => {
  const watches = new Watches(0)
  let woken = 0
  const again = () => {
    woken += 1
    watches.park(touching([], ['a/']), woken, again)
  }
  watches.park(touching([], ['a/']), 0, again)
  watches.changed(1, ['a/1'])
  watches.changed(2, ['a/1'])
  t.equal(woken, 2)
})

t.test('a reader that comes back late is told whether anything it reads has changed', async (t) => {
  const watches = new Watches(10, { parkedMax: 10, recentMax: 4 })
  t.equal(watches.changedSince(10, touching(['a/1'], ['a/'])), false)
  t.equal(watches.changedSince(9, touching(['a/1'])), 'unknown', 'before the start')
  watches.changed(11, ['a/1', 'b/1'])
  watches.changed(12, ['b/2'])
  t.equal(watches.changedSince(10, touching(['a/1'])), true)
  t.equal(watches.changedSince(11, touching(['a/1'])), false)
  t.equal(watches.changedSince(10, touching([], ['a/'])), true)
  t.equal(watches.changedSince(11, touching([], ['a/'])), false)
  t.equal(watches.changedSince(11, touching([], ['b/'])), true)
  watches.changed(13, ['c/1', 'c/2'])
  t.equal(watches.changedSince(10, touching(['c/3'])), 'unknown', 'a change of 11 was forgotten')
  t.equal(watches.changedSince(11, touching(['c/3'])), false)
  watches.allChanged(20)
  t.equal(watches.changedSince(19, touching(['c/3'])), 'unknown')
  t.equal(watches.changedSince(20, touching(['c/3'])), false)
})

t.test('parked readers are bounded', async (t) => {
  const watches = new Watches(0, { parkedMax: 2, recentMax: 4 })
  const park = () => watches.park(touching(['a']), 0, () => {})
  const leave = park()
  park()
  t.throws(park, { code: 'overloaded' })
  leave()
  t.doesNotThrow(park)
})

t.test(
  '10,000 readers on distinct keys: a change looks up its key and each length of prefix',
  async (t) => {
    const watches = new Watches(0)
    let woken = 0
    const wake = () => {
      woken += 1
    }
    for (let number = 0; number < 10_000; number += 1) {
      watches.park(touching([`k/${String(number).padStart(6, '0')}`]), 0, wake)
    }
    watches.park(touching([], ['other/']), 0, wake)
    watches.park(touching([], ['else/x']), 0, wake)
    for (let index = 1; index <= 10_000; index += 1) watches.changed(index, [`free/${index}`])
    t.equal(watches.stats().lookups, 20_000, 'one for the key, one for prefixes of six characters')
    t.equal(woken, 0)
    for (let index = 1; index <= 100; index += 1) {
      watches.changed(10_000 + index, [`k/${String(index).padStart(6, '0')}`])
    }
    t.equal(woken, 100)
  },
)

t.test('a view parks on what it read: rows, ranges, and rows found by an index', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  await machine.apply(log.put('s', 'a', '1', 'red').put('s', 'b', '1').put('r', 'a', '1').take())
  const woken: string[] = []
  const parkOn = async (
    name: string,
    read: (view: ReturnType<typeof machine.view>) => unknown,
  ): Promise<void> => {
    const view = machine.view()
    await read(view)
    machine.park(view.touched(), view.appliedIndex, () => woken.push(name))
    view.close()
  }
  const parkAll = async () => {
    woken.length = 0
    machine.watchStats()
    await parkOn('row s a', (view) => view.get(things, ['s', 'a']))
    await parkOn('row s missing', (view) => view.get(things, ['s', 'missing']))
    await parkOn('space s', (view) => namesOf(view, 's', null))
    await parkOn('space r', (view) => namesOf(view, 'r', null))
    await parkOn('red', (view) => namesOf(view, 's', 'red'))
    await parkOn('blue', (view) => namesOf(view, 's', 'blue'))
    await parkOn('table index', (view) => view.tableIndex(things))
  }
  await parkAll()
  await machine.apply(log.put('s', 'a', '2', 'red').take())
  t.same(
    woken.toSorted(),
    ['red', 'row s a', 'space s'],
    'a row of an index changes without moving in it',
  )
  await machine.apply(log.put('s', 'a', '2', 'blue').put('s', 'missing').take())
  t.same(woken.slice(3).toSorted(), ['blue', 'row s missing'])
  await machine.apply(log.remove('s', 'never').noop().remove('r', 'a').take())
  t.same(woken.slice(5), ['space r'])
  t.equal(machine.watchStats().parked, 1, 'who reads the table’s index only is parked on nothing')
})

t.test('a view that read very many keys wakes for its whole tables', async (t) => {
  const machine = await toyMachine(t)
  const view = machine.view()
  for (let number = 0; number < 3000; number += 1) view.get(things, ['s', `n${number}`])
  t.ok(view.touched().keys.size <= 1024)
  let woken = false
  machine.park(view.touched(), view.appliedIndex, () => {
    woken = true
  })
  view.close()
  await machine.apply(new ToyLog(machine).put('s', 'n2999').take())
  t.ok(woken)
})
