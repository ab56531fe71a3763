/** Short ranges are read by keys that are known: they are those of the state that is read, whatever happens beside. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { KeySets, type KeySource } from '../../src/fsm/key-sets.ts'
import type { Reader } from '../../src/fsm/domain.ts'
import { generationPrefix } from '../../src/fsm/keys.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import type { View } from '../../src/fsm/view.ts'
import { keyRange, wholeRange } from '../../src/fsm/table.ts'
import fc from '../support/fast-check.ts'
import { things, toyMachine, ToyLog, transfer, type Thing } from './toy.ts'

const front = generationPrefix(7)
const base = '\x01things\x00\x01'
const newest = { appliedIndex: 5, keysMax: 100 }
const limits = { keysMax: 4, bytesMax: 10_000, missesMin: 2 }
const row = Buffer.from('row')

/** The state at index 5 with these keys, read as `pages` come. */
function source(
  pages: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
  ofFront = front,
): KeySource {
  return {
    base,
    front: ofFront,
    appliedIndex: 5,
    async *read() {
      for await (const page of pages) yield page.map((name) => [base + name, row] as const)
    },
  }
}

function namesIn(sets: KeySets, at = newest, ofFront = front): readonly string[] | string {
  const found = sets.find(wholeRange(base), ofFront, at)
  if (typeof found === 'string') return found
  return found.map(({ full, primaryAt }) => full.slice(primaryAt))
}

async function loaded(names: readonly string[], to = limits): Promise<KeySets> {
  const sets = new KeySets(to)
  for (let miss = 0; miss < to.missesMin; miss += 1) sets.missed(source([names]))
  await sets.idle()
  return sets
}

const put = (name: string) => new Map([[front + base + name, row]])
const gone = (name: string) => new Map([[front + base + name, null]])

t.test('keys are read once a table was read from often', async (t) => {
  const sets = new KeySets(limits)
  sets.missed(source([['a']]))
  await sets.idle()
  t.equal(namesIn(sets), 'unknown')
  sets.missed(source([['a'], ['b']]))
  await sets.idle()
  t.same(namesIn(sets), ['a', 'b'])
  t.equal(namesIn(sets, { ...newest, keysMax: 1 }), 'long')
  t.same(sets.find(keyRange(base, { startsWith: 'b' }), front, newest), [
    { full: front + base + 'b', primaryAt: (front + base).length },
  ])
})

t.test('what batches change is known at once, and not of states before', async (t) => {
  const sets = await loaded(['a', 'c'])
  sets.changed(put('b'), front, 6)
  sets.changed(gone('a'), front, 7)
  // Neither is another set of keys.
  sets.changed(put('b'), front, 8)
  sets.changed(gone('x'), front, 9)
  t.same(namesIn(sets, { ...newest, appliedIndex: 7 }), ['b', 'c'])
  t.equal(namesIn(sets, { ...newest, appliedIndex: 6 }), 'unknown')
})

t.test('what batches change while keys are read is not lost', async (t) => {
  const sets = new KeySets({ ...limits, keysMax: 8 })
  async function* pages() {
    yield ['a', 'c']
    await setImmediate()
    yield ['d']
  }
  sets.missed(source([]))
  sets.missed(source(pages()))
  sets.changed(put('b'), front, 6)
  sets.changed(gone('d'), front, 7)
  await sets.idle()
  t.equal(namesIn(sets, { ...newest, appliedIndex: 6 }), 'unknown')
  t.same(namesIn(sets, { ...newest, appliedIndex: 7 }), ['a', 'b', 'c'])
})

t.test('too many keys are not kept, and not read again soon', async (t) => {
  const sets = await loaded(['a', 'b', 'c', 'd'])
  t.same(namesIn(sets), ['a', 'b', 'c', 'd'])
  sets.changed(put('e'), front, 6)
  t.equal(namesIn(sets, { ...newest, appliedIndex: 6 }), 'unknown')
  for (let miss = 0; miss < 15; miss += 1) sets.missed(source([['a']]))
  await sets.idle()
  t.equal(namesIn(sets), 'unknown')
  sets.missed(source([['a']]))
  await sets.idle()
  t.same(namesIn(sets), ['a'])
  const long = await loaded(['a', 'b', 'c', 'd', 'e'])
  t.equal(namesIn(long), 'unknown')
  const heavy = await loaded(['a'.repeat(200)], { ...limits, bytesMax: 200 })
  t.equal(namesIn(heavy), 'unknown')
})

t.test('what batches change while keys are read is bounded', async (t) => {
  const sets = new KeySets(limits)
  const { promise, resolve } = Promise.withResolvers<void>()
  async function* slow(): AsyncGenerator<readonly string[]> {
    await promise
    yield ['a']
  }
  sets.missed(source([]))
  sets.missed(source(slow()))
  for (const [at, name] of ['b', 'c', 'd', 'e', 'f'].entries())
    sets.changed(put(name), front, 6 + at)
  resolve()
  await sets.idle()
  t.equal(namesIn(sets, { ...newest, appliedIndex: 20 }), 'unknown')
})

t.test('a load that was given up brings nothing', async (t) => {
  const sets = new KeySets(limits)
  sets.missed(source([]))
  sets.missed(source([['a']]))
  for (const [at, name] of ['b', 'c', 'd', 'e', 'f'].entries())
    sets.changed(gone(name), front, 6 + at)
  // It follows no batches any more.
  sets.changed(put('g'), front, 12)
  await sets.idle()
  t.equal(namesIn(sets, { ...newest, appliedIndex: 20 }), 'unknown')
})

t.test('nothing is known of another generation, nor after the end', async (t) => {
  const next = generationPrefix(8)
  const sets = await loaded(['a'])
  t.equal(namesIn(sets, newest, next), 'unknown')
  sets.changed(new Map(), next, 6)
  t.equal(namesIn(sets), 'unknown')
  for (let miss = 0; miss < 9; miss += 1) sets.missed(source([['b']], next))
  // Read while the generation changes.
  sets.changed(new Map(), generationPrefix(9), 7)
  await sets.idle()
  t.equal(namesIn(sets, newest, next), 'unknown')
  t.equal(namesIn(sets, { ...newest, appliedIndex: 9 }, generationPrefix(9)), 'unknown')
  const ended = await loaded(['a'])
  ended.stop()
  for (let miss = 0; miss < 9; miss += 1) ended.missed(source([['a']]))
  await ended.idle()
  t.equal(namesIn(ended), 'unknown')
})

t.test('keys that cannot be read are unknown', async (t) => {
  const sets = new KeySets(limits)
  async function* broken(): AsyncGenerator<readonly string[]> {
    yield ['a']
    throw new Error('the store was closed')
  }
  sets.missed(source([]))
  sets.missed(source(broken()))
  await sets.idle()
  t.equal(namesIn(sets), 'unknown')
})

const spaces = ['a', 'b\u0000', '\u{1f600}', '\uffee']
const space = fc.constantFrom(...spaces)
const name = fc.constantFrom('x', 'x\u0000y', 'xy', 'z')
const tag = fc.constantFrom(null, 'red', 'redder')

type Step =
  | { readonly type: 'apply'; readonly commands: readonly (readonly [string, object])[] }
  | { readonly type: 'view' | 'wait' | 'install' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(
        fc.oneof(
          fc.record({ space, name, tag, value: fc.constant('') }).map(commandOf('toy.put')),
          fc.record({ space, name }).map(commandOf('toy.remove')),
          fc.record({ space, tag }).map(commandOf('toy.sum')),
        ),
        { minLength: 1, maxLength: 5 },
      )
      .map((commands) => ({ type: 'apply' as const, commands })),
  },
  { weight: 2, arbitrary: fc.constantFrom({ type: 'view' as const }, { type: 'wait' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'install' as const }) },
)

function commandOf(type: string) {
  return (args: object) => [type, args] as const
}

/** All that can be read of things, by every way of reading a range. */
async function seen(reader: Reader): Promise<unknown> {
  const all: unknown[] = [await rowsOf(reader.pages(things))]
  for (const space of spaces) {
    all.push(await rowsOf(reader.pages(things, { prefix: [space], startsWith: 'x' })))
    all.push(await rowsOf(reader.pages(things, { prefix: [space], from: [space, 'xy'] })))
  }
  for (const tag of ['red', 'redder']) {
    all.push(await rowsOf(reader.pagesBy(things, 'tag', { prefix: [tag] })))
    all.push(await reader.nextBy(things, 'tag', [tag]))
  }
  for (const index of [null, 'tag']) {
    const keys: string[] = []
    for await (const page of reader.keysBy(things, index)) keys.push(...page)
    all.push(keys)
  }
  return all
}

async function seenInView(machine: Machine): Promise<void> {
  using view = machine.view(false)
  await seen(view)
}

async function rowsOf(pages: AsyncIterable<readonly Thing[]>): Promise<readonly Thing[]> {
  const rows: Thing[] = []
  for await (const page of pages) rows.push(...page)
  return rows
}

t.test('whatever happens, ranges read as without known keys', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.constantFrom(3, 8, 1_000),
      async (steps, keysMax) => {
        await using stack = new AsyncDisposableStack()
        const scope = {
          teardown: (run: () => Promise<unknown>) => stack.defer(async () => void (await run())),
        }
        const open = (missesMin: number): Promise<Machine> =>
          toyMachine(scope, { keySetLimits: { keysMax, missesMin, bytesMax: 100_000 } })
        const [known, plain] = [await open(1), await open(Infinity)]
        const log = new ToyLog(known)
        let views: (readonly [View, View])[] = []
        for (const step of steps) {
          if (step.type === 'apply') {
            for (const [type, args] of step.commands) log.command(type, args)
            const entries = log.take()
            // Readers are there while it is applied.
            const [outcomes, , others] = await Promise.all([
              known.apply(entries),
              seenInView(known),
              plain.apply(entries),
            ])
            t.same(outcomes, others)
          } else if (step.type === 'view') views.push([known.view(), plain.view()])
          else if (step.type === 'wait') await setImmediate()
          else if (plain.appliedIndex > known.installedIndex) {
            // Of a peer that is one entry ahead.
            const entries = log.put('a', 'x').take()
            await plain.apply(entries)
            await transfer(await plain.snapshot(), known)
            views = []
          }
          t.same(await seen(known.reader()), await seen(plain.reader()))
        }
        for (const [ofKnown, ofPlain] of views) t.same(await seen(ofKnown), await seen(ofPlain))
      },
    ),
    { numRuns: 40 },
  )
})
