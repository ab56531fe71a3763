/** The tables of configuration keys that operators read. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { pages, settingsOf, withTables } from '../../scripts/settings/tables.ts'
import { fileSchema } from '../../src/process/config-schema.ts'

t.test('the tables are what npm run settings writes', async (t) => {
  const begun = new Set<string>()
  for (const file of await pages()) {
    const page = await readFile(file, 'utf8')
    if (!page.includes('<!-- settings')) continue
    for (const [marker] of page.matchAll(/<!-- settings[^>]*-->/g)) begun.add(marker)
    t.ok((await withTables(page, file)) === page, `run npm run settings: ${file}`)
  }
  t.ok(begun.has('<!-- settings -->'), 'one table has all keys')
})

t.test('each key says what it is about', (t) => {
  const blocks = Object.keys(fileSchema.properties)
  const all = settingsOf(
    fileSchema,
    '',
    new Set(blocks.filter((block) => !/^(service|check)s?$/.test(block))),
  )
  t.ok(all.length > 90)
  t.same(
    all.filter(({ about }) => about === '').map(({ key }) => key),
    [],
  )
  t.end()
})

t.test('a table shows defaults as a file would have them', (t) => {
  const usual = new Map(settingsOf(fileSchema).map((setting) => [setting.key, setting.usual]))
  t.equal(usual.get('server.raft.heartbeat_interval'), '`"100ms"`')
  t.equal(usual.get('limits.http_connections_max'), '`16384`')
  t.equal(usual.get('name'), 'the host name')
  t.equal(usual.get('advertise_addr'), '`bind_addr`')
  t.equal(usual.get('acl'), 'off')
  t.end()
})
