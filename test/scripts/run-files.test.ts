/** The runner of test files: what it runs when, and that nothing that goes wrong passes for a success. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runFiles, wholeTap, type RunOptions } from '../../scripts/check/run-files.ts'
import { countTap } from '../../scripts/check/tap-count.ts'
import { failuresInTap } from '../../scripts/check/tap-failures.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tap = JSON.stringify(import.meta.resolve('tap'))

const options: RunOptions = { root, env: {}, lanes: 2, atOnce: {}, secondsMax: 60 }

/** Test files of these contents, by their names, as the runner takes them. */
function files(folder: string, names: readonly string[], kind = 'unit') {
  return names.map((name) => ({ paths: [join(folder, `${name}.mjs`)], kind }))
}

t.test('a file passes only if its process says so', async (t) => {
  const folder = t.testdir({
    'good.mjs': `import t from ${tap}; t.test('a', async (t) => { t.ok(true); t.ok(true) })`,
    'bad.mjs': `import t from ${tap}; t.test('b', async (t) => { t.ok(true); t.equal(1, 2, 'one is two') })`,
    'thrown.mjs': `import t from ${tap}; t.ok(true); throw new Error('planted')`,
    'silent.mjs': `process.exit(0)`,
    'empty.mjs': `import ${tap}`,
    'broken.mjs': `import './nothing-here.mjs'`,
  })
  const names = ['good', 'bad', 'thrown', 'silent', 'empty', 'broken']
  const runs = await runFiles(files(folder, names), options)
  const whole = wholeTap(runs)
  t.same(
    runs.filter(({ ok }) => ok).map(({ name }) => name),
    [join(folder, 'good.mjs')],
  )
  t.match(countTap(whole), { failed: 5 })
  const failures = failuresInTap(whole).join('\n')
  t.match(failures, /bad\.mjs > b > one is two \(line 1\)/, 'its own line, and not one of tap')
  for (const name of names.slice(1)) t.match(failures, `${name}.mjs`)
  const broken = runs.find(({ name }) => name.endsWith('broken.mjs'))
  t.match(broken?.errors, /nothing-here/, 'what it wrote beside TAP is kept')
})

t.test('a file that does not end is ended, and says where it was', async (t) => {
  const folder = t.testdir({
    'stuck.mjs': `import t from ${tap}; setInterval(() => {}, 1000); t.test('waits', () => new Promise(() => {}))`,
  })
  const [run] = await runFiles(files(folder, ['stuck']), { ...options, secondsMax: 1 })
  t.equal(run?.ok, false)
  t.match(run?.tap, /not ok/)
})

t.test('of a kind no more than its number run at a time, and others go by', async (t) => {
  const source = `import t from ${tap}; await new Promise((done) => setTimeout(done, 400)); t.ok(true)`
  const folder = t.testdir({ 'a.mjs': source, 'b.mjs': source, 'c.mjs': source })
  const runs = await runFiles(
    [...files(folder, ['a', 'b'], 'one'), ...files(folder, ['c'], 'other')],
    { ...options, atOnce: { one: 1 } },
  )
  t.equal(runs.length, 3)
  t.match(runs.at(-1)?.name, /b\.mjs$/, 'c went by b, which waited for a')
  t.same(countTap(wholeTap(runs)), { passed: 3, failed: 0 })
})

t.test('more of a kind run once nothing else waits', async (t) => {
  // Each waits until all have begun.
  const source = `import t from ${tap}
import { mkdirSync, readdirSync } from 'node:fs'
mkdirSync(import.meta.filename + '.begun')
const begun = () => readdirSync(import.meta.dirname).filter((name) => name.endsWith('.begun')).length
while (begun() < 3) await new Promise((done) => setTimeout(done, 20))
t.ok(true)`
  const folder = t.testdir({ 'a.mjs': source, 'b.mjs': source, 'c.mjs': source })
  const runs = await runFiles(files(folder, ['a', 'b', 'c'], 'one'), {
    ...options,
    lanes: 3,
    atOnce: { one: 1 },
    atOnceLast: { one: 3 },
  })
  t.same(countTap(wholeTap(runs)), { passed: 3, failed: 0 })
})

t.test('an error that nobody caught fails the file, and is shown', async (t) => {
  const inTest = (line: string) =>
    `import t from 'tap'; t.test('a', async (t) => { ${line}; await new Promise((done) => setTimeout(done, 100)); t.ok(true) })`
  const folder = t.testdir({
    'thrown.mjs': inTest(`setTimeout(() => { throw new Error('planted late') })`),
    'rejected.mjs': inTest(`void Promise.reject(new Error('planted late'))`),
  })
  // As this file itself is run: the gate's tap is a bundle, with a part of its own for these errors.
  const runs = await runFiles(files(folder, ['thrown', 'rejected']), {
    ...options,
    nodeArguments: process.execArgv,
  })
  for (const { ok, tap } of runs) {
    t.equal(ok, false)
    t.match(tap, /planted late/)
    t.match(tap, /(thrown|rejected)\.mjs/)
  }
})

t.test(
  'files of one process have their own tests, teardowns and folders, and fail by themselves',
  async (t) => {
    const folder = t.testdir({
      'first.mjs': `import t from 'tap'; globalThis.shared = 1; t.teardown(() => (globalThis.shared = 2)); const folder = t.testdir({ a: '' }); t.test('a', async (t) => t.match(folder, /first/)); await 0; t.test('b', async (t) => t.equal(shared, 1))`,
      'bad.mjs': `import t from 'tap'; t.equal(shared, 2); t.test('c', async (t) => t.equal(1, 2, 'one is two'))`,
      'empty.mjs': `import 'tap'`,
      'broken.mjs': `import './nothing-here.mjs'`,
      'thrown.mjs': `import t from 'tap'; t.test('d', async () => { throw new Error('planted') })`,
      'last.mjs': `import t from 'tap'; t.test('e', async (t) => t.ok(true))`,
    })
    const names = ['first', 'bad', 'empty', 'broken', 'thrown', 'last']
    const paths = names.map((name) => join(folder, `${name}.mjs`))
    const [run] = await runFiles([{ paths, kind: 'unit' }], options)
    t.equal(run?.name, `6 files from ${paths[0]} on`)
    t.equal(run?.ok, false)
    const whole = wholeTap(run === undefined ? [] : [run])
    t.match(countTap(whole), { passed: 4, failed: 4 })
    const failures = failuresInTap(whole).join('\n')
    t.match(failures, /bad\.mjs > c > one is two \(line 1\)/)
    t.match(failures, /empty\.mjs has no test/)
    t.match(failures, /broken\.mjs > .*nothing-here/)
    t.match(failures, /thrown\.mjs > d > planted/)
  },
)

t.test('a process of several that ends early fails', async (t) => {
  const folder = t.testdir({
    'exits.mjs': `import t from 'tap'; t.ok(true); process.exit(0)`,
    'never.mjs': `import t from 'tap'; t.ok(true)`,
  })
  const paths = ['exits', 'never'].map((name) => join(folder, `${name}.mjs`))
  const [run] = await runFiles([{ paths, kind: 'unit' }], options)
  t.equal(run?.ok, false)
})
