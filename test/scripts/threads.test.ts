/** `docs/threads.md` is the list of all background activity: nothing with a timer is missing there, and nothing there is gone. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(join(root, 'docs/threads.md'), 'utf8')

/** What timers are made of, and what has one only while somebody waits for it. */
const unnamed = [
  'lib/async.ts',
  'lib/clock.ts',
  'lib/earliest-timer.ts',
  'lib/periodic.ts',
  // For tests of what is around a task.
  'client-agent/drivers/mock-driver.ts',
  // Of commands, not of an agent.
  'cli/api/connecting.ts',
  'cli/lock/holder.ts',
  'cli/lock/watchdog.ts',
]

t.test('every owner of a timer is named', async (t) => {
  const missing: string[] = []
  const owners = new Set<string>()
  for (const name of await readdir(join(root, 'src'), { recursive: true })) {
    if (!name.endsWith('.ts')) continue
    const text = await readFile(join(root, 'src', name), 'utf8')
    if (!/\bsetTimer\(|\bperiodic\(|\bDeadlineWheel\b/.test(text)) continue
    owners.add(name)
    if (!unnamed.includes(name) && !page.includes(`\`${name}\``)) missing.push(name)
  }
  t.same(missing, [], 'give each a row in docs/threads.md')
  t.same(
    unnamed.filter((name) => !owners.has(name)),
    [],
    'these have no timer any more',
  )
})

t.test('every owner that is named is there', async (t) => {
  const names = [...page.matchAll(/`([a-z0-9-]+(?:\/[a-z0-9-]+)+(?:\.ts|\/)?)`/g)]
  t.ok(names.length > 50)
  for (const [, name = ''] of names) {
    await t.resolves(stat(join(root, 'src', name)), name)
  }
})
