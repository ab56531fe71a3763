/** Where the single executable loads LevelDB's binding from, and what it says where that is nowhere. */
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadBindingFrom } from '../../../scripts/release/launch/binding-file.ts'
import { isRefusal } from '../../../src/lib/disk-gate.ts'

const bytes = Buffer.from('the binding')

/** An executable in a folder, another folder, and what is loaded from them. `refused`: files that the system does not load. */
function machine(t: Test, refused: (file: string) => boolean = () => false) {
  const folder = t.testdir({ bin: { muster: 'an executable' }, tmp: {}, data: {} })
  const loaded: string[] = []
  const load = (file: string): unknown => {
    if (refused(file)) throw new Error('failed to map segment from shared object')
    loaded.push(file)
    return readFileSync(file, 'utf8')
  }
  const program = join(folder, 'bin/muster')
  const beside = join(folder, 'bin/classic-level.node')
  const [tmp, data] = [join(folder, 'tmp'), join(folder, 'data')]
  const run = (folders = [tmp, data]) => loadBindingFrom({ program, bytes, folders, load })
  return { beside, tmp, data, loaded, run }
}

t.test('the file beside the executable is loaded, and none is written', async (t) => {
  const { beside, loaded, run } = machine(t)
  await writeFile(beside, bytes, { mode: 0o644 })
  t.equal(run(['/does/not/exist']), 'the binding')
  t.same(loaded, [beside])
})

t.test(
  'another release beside the executable is not loaded, nor what others may write',
  async (t) => {
    const { beside, tmp, loaded, run } = machine(t)
    await writeFile(beside, 'of old, and', { mode: 0o644 })
    t.equal(run(), 'the binding')
    await writeFile(beside, bytes)
    await chmod(beside, 0o666)
    t.equal(run(), 'the binding')
    t.equal(loaded.length, 2)
    for (const file of loaded) t.ok(file.startsWith(`${tmp}/muster-`), file)
    t.same(await readdir(tmp), [], 'what was written is removed')
  },
)

t.test('the next folder is taken where one refuses', async (t) => {
  const { tmp, data, loaded, run } = machine(t, (file) => file.startsWith(`${tmp}/`))
  t.equal(run(['/does/not/exist', tmp, data]), 'the binding')
  t.ok(loaded[0]?.startsWith(`${data}/`))
  t.same([await readdir(tmp), await readdir(data)], [[], []])
})

t.test('a failure names every folder and why, and is no full disk', async (t) => {
  const { beside, tmp, run } = machine(t, () => true)
  const failure = t.throws(() => run(['/proc/no', tmp])) as Error
  t.match(
    failure.message,
    /^the shared library of LevelDB cannot be loaded from any folder: set TMPDIR/,
  )
  t.match(failure.message, new RegExp(`${beside}: ENOENT`))
  t.match(failure.message, /\/proc\/no: ENOENT/)
  t.ok(failure.message.includes(`${tmp}: failed to map segment`))
  t.equal(failure.stack, undefined, 'a sentence for the operator, and no trace')
  t.notOk(isRefusal(failure))
  t.notOk('code' in failure)
})
