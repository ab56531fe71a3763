/**
 * The protocol as conversations that a person can read: each script beside this file says what happens to a few servers, and
 * under each command stands all that they say, write and become. `TAP_SNAPSHOT=1` writes the conversations anew; the
 * commit that changes one explains why.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { run } from './script.ts'

const folder = new URL('.', import.meta.url)
const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).toSorted()

for (const name of names) {
  void t.test(name.replace('.txt', '').replaceAll('-', ' '), async (t) => {
    const file = new URL(name, folder)
    const script = await readFile(file, 'utf8')
    const now = run(script)
    if (process.env['TAP_SNAPSHOT'] === '1') await writeFile(file, now)
    else t.equal(now, script, 'TAP_SNAPSHOT=1 writes it anew')
  })
}

void t.test('a script runs the same again, and says where it is wrong', async (t) => {
  const script = 'servers a b c\npass 1000\n'
  t.equal(run(run(script)), run(script))
  t.not(run(script), script)
  t.throws(() => run('servers a\nwave a\n'), { message: 'line 2, wave a' })
})
