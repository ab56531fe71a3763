/** Readers: ranges at their edges, pages, and views that stay with their state. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Range, Reader } from '../../src/fsm/domain.ts'
import { namesOf, things, toyMachine, ToyLog } from './toy.ts'

async function keysIn(reader: Reader, range: Range): Promise<string[]> {
  const found: string[] = []
  for await (const page of reader.pages(things, range)) {
    found.push(...page.map(({ space, name }) => `${space}|${name}`))
  }
  return found
}

t.test('ranges take prefixes, starts and first keys, also odd ones', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  const rows: [string, string][] = [
    ['', ''],
    ['', 'a'],
    ['a', ''],
    ['a', 'b'],
    ['a', 'b\x00'],
    ['a', 'bc'],
    ['a\x00', 'b'],
    ['ab', 'é'],
    ['b', '\uE000'],
    ['b', '\u{1F600}'],
  ]
  for (const [space, name] of rows.toReversed()) log.put(space, name)
  await machine.apply(log.take())
  const all = rows.map(([space, name]) => `${space}|${name}`)
  const cases: [Range, string[]][] = [
    [{}, all],
    [{ prefix: [] }, all],
    [{ prefix: [''] }, all.slice(0, 2)],
    [{ prefix: ['a'] }, all.slice(2, 6)],
    [{ prefix: ['a', 'b'] }, all.slice(3, 4)],
    [{ prefix: ['a'], startsWith: 'b' }, all.slice(3, 6)],
    [{ startsWith: 'a' }, all.slice(2, 8)],
    [{ prefix: ['a'], from: ['a', 'b\x00'] }, all.slice(4, 6)],
    [{ prefix: ['a'], from: ['a', 'zz'] }, []],
    [{ prefix: ['a'], from: ['z'] }, []],
    [{ prefix: ['b'], from: ['a'] }, all.slice(8)],
    [{ from: ['a'] }, all.slice(2)],
    [{ from: ['b', '\u{1F600}'] }, all.slice(9)],
    [{ from: ['zz'] }, []],
    [{ prefix: ['nothing'] }, []],
  ]
  // Once from the store's own files, once from rows still on their way into it.
  for (const [range, wanted] of cases) {
    t.same(await keysIn(machine.reader(), range), wanted, JSON.stringify(range))
  }
})

t.test('a long list comes in bounded pages, and other work gets its turn', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (let number = 0; number < 3000; number += 1)
    log.put('s', String(number).padStart(5, '0'), 'v', 'red')
  await machine.apply(log.take())
  let turns = 0
  const done = new AbortController()
  const others = (async () => {
    while (!done.signal.aborted) {
      await setImmediate()
      turns += 1
    }
  })()
  for (const pages of [machine.reader().pages(things), machine.reader().pagesBy(things, 'tag')]) {
    let rows = 0
    for await (const page of pages) {
      t.ok(page.length <= 512)
      rows += page.length
      if (rows >= 3000) break
    }
    t.equal(rows, 3000)
  }
  done.abort()
  await others
  t.ok(turns >= 10, `other work had ${turns} turns`)
})

t.test('pages are bounded in bytes, too', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (let number = 0; number < 20; number += 1) log.put('s', `n${number}`, 'v'.repeat(60_000))
  await machine.apply(log.take())
  await machine.flush()
  for await (const page of machine.reader().pages(things)) t.ok(page.length <= 6)
})

t.test('a view stays with its state while later entries are applied', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (let number = 0; number < 1200; number += 1)
    log.put('s', String(number).padStart(5, '0'), 'old', 'red')
  await machine.apply(log.take())
  const view = machine.view()
  const lists = [
    view.pages(things)[Symbol.asyncIterator](),
    view.pagesBy(things, 'tag')[Symbol.asyncIterator](),
  ]
  const seen = await Promise.all(lists.map(async (list) => (await list.next()).value?.length ?? 0))
  for (let round = 0; round < 5; round += 1) {
    for (let number = 0; number < 1200; number += 10) {
      log.put('s', String(number).padStart(5, '0'), 'new', null).put('s', `x${round}${number}`)
    }
    await machine.apply(log.remove('s', '00001').take())
  }
  t.equal(view.appliedIndex, 1200)
  t.equal(view.tableIndex(things), 1200)
  t.equal(view.get(things, ['s', '00000'])?.value, 'old')
  t.equal(view.get(things, ['s', '00001'])?.value, 'old')
  for (const [number, list] of lists.entries()) {
    for (;;) {
      const { done, value } = await list.next()
      if (done) break
      t.ok(value.every((thing) => thing.value === 'old'))
      seen[number] = (seen[number] ?? 0) + value.length
    }
  }
  t.same(seen, [1200, 1200])
  t.equal((await namesOf(view, 's', null)).length, 1200, 'a scan that begins late sees the same')
  view.close()
  view.close()
  t.equal(machine.reader().get(things, ['s', '00000'])?.value, 'new')
  t.equal(machine.reader().get(things, ['s', '00001']), undefined)
  t.equal((await namesOf(machine.reader(), 's', 'red')).length, 1080 - 1)
})

t.test('rows are visible the moment apply says so, in points, scans and indexes', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (let round = 0; round < 200; round += 1) {
    const name = `n${round % 7}`
    const tag = round % 3 === 0 ? 'red' : null
    await machine.apply(log.put('s', name, `${round}`, tag).take())
    const view = machine.view()
    t.equal(view.get(things, ['s', name])?.value, `${round}`)
    t.equal((await namesOf(view, 's', null)).length, Math.min(round + 1, 7))
    t.equal((await namesOf(view, 's', 'red')).includes(name), tag === 'red')
    view.close()
  }
})

t.test('a list that is left early lets go of what it holds', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (let number = 0; number < 2000; number += 1) log.put('s', `n${number}`)
  await machine.apply(log.take())
  const view = machine.view()
  for await (const page of view.pages(things)) {
    t.ok(page.length > 0)
    break
  }
  view.close()
  t.throws(() => view.get(things, ['s', 'n1']), { code: 'internal' })
})
