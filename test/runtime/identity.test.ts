/** The id of a data folder, and whether its server has written to a log. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadIdentity, readIdentity, writeIdentity } from '../../src/runtime/identity.ts'

t.test('an id is made once', async (t) => {
  const folder = t.testdir()
  t.equal(await readIdentity(folder, 'server'), null)
  const made = await loadIdentity(folder, 'server')
  t.equal(made.hasLog, false)
  t.same(await loadIdentity(folder, 'server'), made)
  t.equal(await readIdentity(folder, 'client'), null, 'of a server alone')
})

t.test('that there was a log is kept with it', async (t) => {
  const folder = t.testdir()
  const { id } = await loadIdentity(folder, 'server')
  await writeIdentity(folder, 'server', { id, hasLog: true })
  t.same(await loadIdentity(folder, 'server'), { id, hasLog: true })
  t.same(JSON.parse(await readFile(join(folder, 'server.json'), 'utf8')), {
    version: 1,
    id,
    hasLog: true,
  })
})

t.test('a log without the id of its server is refused', async (t) => {
  const folder = t.testdir({ raft: { segment: 'x' } })
  await t.rejects(loadIdentity(folder, 'server'), { code: 'corrupt', message: /no server\.json/ })
  await loadIdentity(folder, 'client')
  await loadIdentity(t.testdir({ raft: {} }), 'server')
})

t.test('what a node has without its id is refused', async (t) => {
  const traces = t.testdir({
    secret: { 'node-secret': 'x' },
    states: { 'allocation-state': { 'a.json': '{}' } },
  })
  for (const name of ['secret', 'states']) {
    const folder = join(traces, name)
    await t.rejects(loadIdentity(folder, 'client'), {
      code: 'corrupt',
      message: /no client\.json.*put that file back, or move the folder away to join as a new node/,
    })
    t.equal(await readIdentity(folder, 'client'), null, 'none was made')
  }
  const fresh = join(traces, 'fresh')
  await mkdir(join(fresh, 'allocation-state'), { recursive: true })
  await loadIdentity(fresh, 'client')
})

t.test('a file of a newer program, or of none, is refused by its name', async (t) => {
  const folder = t.testdir()
  for (const [text, code] of [
    ['{"version":2,"id":"x"}', 'incompatible'],
    ['{"version":1,"id":"x"}', 'corrupt'],
    ['[', 'corrupt'],
  ] as const) {
    await writeFile(join(folder, 'server.json'), text)
    await t.rejects(
      readIdentity(folder, 'server'),
      {
        code,
        message: code === 'corrupt' ? /server\.json .*: put that file back/ : /server\.json/,
      },
      text,
    )
  }
})
