/** `npm run settings`: writes the tables of configuration keys and of functions in docs/*.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { pages, withTables } from './settings/tables.ts'

for (const file of await pages()) {
  const page = await readFile(file, 'utf8')
  const written = await withTables(page, file)
  if (written !== page) await writeFile(file, written)
}
