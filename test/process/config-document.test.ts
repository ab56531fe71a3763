/** The table of configuration keys that operators read. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { fileSchema } from '../../src/process/config-schema.ts'

t.test('every key of limits has a row', async (t) => {
  const page = await readFile(new URL('../../docs/operators.md', import.meta.url), 'utf8')
  const rows = new Set([...page.matchAll(/^\| `limits\.(\w+)` +\|/gm)].map(([, key]) => key))
  t.same(rows, new Set(Object.keys(fileSchema.properties.limits.properties)))
})
