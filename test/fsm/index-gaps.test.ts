/** Gaps in an index: never one where there are rows, and few looks for many prefixes. */
import t from 'tap'
import type { Reader } from '../../src/fsm/domain.ts'
import { IndexGaps } from '../../src/fsm/index-gaps.ts'
import { randomInteger, seededRandom } from '../../src/lib/random.ts'
import { namesOf, things, toyMachine, ToyLog } from './toy.ts'

/** Counts the looks. */
function counted(reader: Reader): { readonly reader: Reader; readonly looks: () => number } {
  let looks = 0
  const counting: Reader = Object.create(reader, {
    nextBy: {
      value: (...args: Parameters<Reader['nextBy']>) => {
        looks += 1
        return reader.nextBy(...args)
      },
    },
  }) as Reader
  return { reader: counting, looks: () => looks }
}

const tagOf = (number: number) => String(number).padStart(4, '0')

t.test('the next key of an index, over rows that come and go', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  for (const number of [1, 2, 3, 4]) log.put('s', `n${number}`, 'v', tagOf(number))
  log.remove('s', 'n2').remove('s', 'n3')
  await machine.apply(log.take())
  const reader = machine.reader()
  const next = async (from: string) => (await reader.nextBy(things, 'tag', [from]))?.slice(0, 4)
  t.equal(await next(''), '0001')
  t.equal(await next('0001'), '0001')
  t.equal(await next('0002'), '0004', 'those between are gone')
  t.equal(await next('0005'), undefined)
})

t.test('a prefix in a gap has no rows, whatever the rows are', async (t) => {
  const random = seededRandom(11)
  for (let round = 0; round < 40; round += 1) {
    const machine = await toyMachine(t)
    const log = new ToyLog(machine)
    const rows = randomInteger(random, 0, 30)
    for (let at = 0; at < rows; at += 1) {
      const number = randomInteger(random, 0, 60)
      log.put('s', `n${number}`, 'v', tagOf(number))
      if (randomInteger(random, 0, 3) === 0) log.remove('s', `n${number}`)
    }
    await machine.apply(log.take())
    const { reader, looks } = counted(machine.reader())
    const gaps = new IndexGaps(reader)
    let found = 0
    for (let at = 0; at < 60; at += 1) {
      const tag = tagOf(randomInteger(random, 0, 60))
      if (!(await gaps.isEmpty(things, 'tag', [tag]))) continue
      found += 1
      t.same(await namesOf(machine.reader(), '', tag), [], `${tag} in round ${round}`)
    }
    // Each look that found nothing new is one of four, or was earned by a prefix that needed none.
    t.ok(looks() <= 4 + found)
  }
})

t.test('one look tells of all that an empty index may be asked for', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  log.put('s', 'last', 'v', tagOf(9_999))
  await machine.apply(log.take())
  const { reader, looks } = counted(machine.reader())
  const gaps = new IndexGaps(reader)
  t.notOk(await gaps.isEmpty(things, 'tag', ['0000']), 'the first is left to a scan')
  for (let number = 0; number < 100; number += 1) {
    t.ok(await gaps.isEmpty(things, 'tag', [tagOf(number)]))
  }
  t.equal(looks(), 1)
  t.notOk(await gaps.isEmpty(things, 'tag', [tagOf(9_999)]), 'that one has a row')
})
