/** Which test file runs when: every one somewhere, and what draws at random twice. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { namedFiles, needing, processesFor, testFiles } from '../../scripts/check/files.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const kinds = ['unit', 'cluster', 'cluster-alone'] as const

t.test('the lists name files that exist', async (t) => {
  for (const path of namedFiles) await t.resolves(access(join(root, path)), path)
})

t.test('a soak runs in the long part alone, a fuzzer in both', async (t) => {
  const [gate, long] = await Promise.all(
    (['gate', 'long'] as const).map(async (suite) =>
      (await testFiles(root, suite, kinds)).map(({ path }) => path),
    ),
  )
  const place = (path: string) => [gate?.includes(path), long?.includes(path)]
  t.same(place('test/cluster/catch-up.test.ts'), [false, true])
  t.same(place('test/wire/hostile.test.ts'), [true, true])
  t.same(place('test/scripts/files.test.ts'), [true, false])
  t.equal(new Set(gate).size, gate?.length)
})

t.test('clusters are begun first, and of each kind the longest', async (t) => {
  const files = await testFiles(root, 'gate', ['unit', 'cluster'])
  const firstUnit = files.findIndex(({ kind }) => kind === 'unit')
  t.equal(files[firstUnit]?.path, 'test/sim/sim.test.ts')
  t.equal(files[0]?.path, 'test/cluster/workloads.test.ts')
  t.ok(files.slice(firstUnit).every(({ kind }) => kind === 'unit'))
})

t.test('randomness is found behind other files', async (t) => {
  const found = needing(
    ['randomness'],
    new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['randomness']],
      ['d', ['e']],
      ['e', ['d']],
    ]),
  )
  t.same([...found].sort(), ['a', 'b', 'c', 'randomness'])
})

t.test(
  'what draws, measures the heap, is long or has clusters has a process of its own',
  async (t) => {
    const files = await testFiles(root, 'gate', kinds)
    const processes = processesFor(files)
    t.same(processes.flatMap(({ paths }) => paths).sort(), files.map(({ path }) => path).sort())
    const alone = new Set(processes.flatMap(({ paths }) => (paths.length === 1 ? paths : [])))
    for (const path of [
      'test/sim/sim.test.ts',
      'test/wire/hostile.test.ts',
      'test/lib/heap-growth.test.ts',
      'test/cluster/readme.test.ts',
    ]) {
      t.ok(alone.has(path), path)
    }
    t.notOk(alone.has('test/scripts/files.test.ts'))
  },
)
