/** A state that is damaged: set aside where it can be built anew, refused where it cannot. */
import { mkdir, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { crashCopy, temporaryFolder, ToyLog, toyMachine } from './toy.ts'

/** A state of one row, closed. Resolves to its folder. */
async function closedState(t: Test): Promise<string> {
  const folder = await temporaryFolder(t)
  const machine = await toyMachine(t, { folder })
  await machine.apply(new ToyLog(machine).put('space', 'name').take())
  await machine.close()
  return folder
}

async function filesOf(folder: string, pattern: RegExp): Promise<string[]> {
  const state = join(folder, 'state-1')
  return (await readdir(state))
    .filter((name) => pattern.test(name))
    .map((name) => join(state, name))
}

/** Of all files that hold anything of a state; LevelDB's own log is none of them. */
async function sizesIn(folder: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || /^(LOG|LOCK|state\.lock)/.test(entry.name)) continue
    sizes.set(relative(folder, path), (await stat(path)).size)
  }
  return sizes
}

const damages: readonly (readonly [string, (folder: string) => Promise<void>])[] = [
  [
    'its manifest is garbage',
    async (folder) => {
      for (const file of await filesOf(folder, /^MANIFEST/)) await writeFile(file, 'x'.repeat(500))
    },
  ],
  [
    'its manifest is missing',
    async (folder) => {
      for (const file of await filesOf(folder, /^MANIFEST/)) await rm(file)
    },
  ],
  [
    'CURRENT is empty',
    async (folder) => {
      for (const file of await filesOf(folder, /^CURRENT/)) await truncate(file)
    },
  ],
  ['the whole folder is missing', (folder) => rm(join(folder, 'state-1'), { recursive: true })],
  [
    'CURRENT is missing',
    async (folder) => {
      for (const file of await filesOf(folder, /^CURRENT/)) await rm(file)
    },
  ],
  ['STATE is missing', (folder) => rm(join(folder, 'STATE'))],
  [
    'STATE names another folder',
    (folder) => writeFile(join(folder, 'STATE'), '{"format":1,"folder":"state-7"}'),
  ],
  [
    'a table file is missing',
    async (folder) => {
      for (const file of await filesOf(folder, /\.ldb$/)) await rm(file)
    },
  ],
  ['STATE is not JSON', (folder) => writeFile(join(folder, 'STATE'), '\0\0\0\0')],
  [
    'reading it failed while a server ran',
    (folder) => writeFile(join(folder, 'state-1', 'DAMAGED'), ''),
  ],
]

for (const [name, damage] of damages) {
  t.test(`${name}: it is set aside, and the state begins anew`, async (t) => {
    const folder = await closedState(t)
    await damage(folder)
    const before = await sizesIn(folder)
    await t.rejects(
      toyMachine(t, { folder }),
      { code: 'corrupt', message: /; .*restore an archive into it$/ },
      'where nothing else has it',
    )
    t.same(await sizesIn(folder), before, 'a start that is refused leaves it as it is')
    const lines: string[] = []
    const logger = { ...silentLogger, error: (message: string) => void lines.push(message) }
    const machine = await toyMachine(t, {
      folder,
      logger,
      onDamage: () => Promise.resolve('setAside'),
    })
    t.equal(machine.appliedIndex, 0)
    if (name !== 'the whole folder is missing') {
      const aside = [...before].filter(([path]) => path.startsWith('state-1/'))
      const found = await sizesIn(folder)
      for (const [path, bytes] of aside) t.equal(found.get(path.replace('state', 'damaged')), bytes)
    }
    t.same(lines, ['the state cannot be opened; it is set aside and built anew'])
    await machine.apply(new ToyLog(machine).put('space', 'name').take())
    await machine.close()
    const again = await toyMachine(t, { folder })
    t.equal(again.appliedIndex, 1, 'the next start finds the new one')
  })
}

t.test('a crash during the first creation is no damage', async (t) => {
  const folder = await closedState(t)
  const state = join(folder, 'state-1')
  // All is there but what is done last.
  await rm(join(folder, 'STATE'))
  await writeFile(join(state, 'UNCHOSEN'), '')
  const machine = await toyMachine(t, { folder })
  t.equal(machine.appliedIndex, 0)

  await machine.close()
  const states = (await readdir(folder)).filter((name) => name.startsWith('state-'))
  t.equal(states.length, 1)
  t.notOk((await readdir(join(folder, states[0] ?? ''))).includes('UNCHOSEN'), 'it was chosen')
})

t.test('a crash before anything was in the first state is none either', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'state-1'))
  t.equal((await toyMachine(t, { folder })).appliedIndex, 0)
})

t.test(
  'without STATE the state that was in use is found beside an unfinished snapshot',
  async (t) => {
    const folder = await closedState(t)
    const machine = await toyMachine(t, { folder })
    const sink = await machine.stage('id', await machine.flush())
    t.ok(sink)
    const staged = await crashCopy(t, folder)
    await machine.close()
    await rm(join(staged, 'STATE'))
    await t.rejects(toyMachine(t, { folder: staged }), { code: 'corrupt', message: /state-1 is/ })
    t.match(await readdir(staged), ['state-1', 'state-2'])
  },
)

t.test('one damaged state is kept, the last', async (t) => {
  const folder = await closedState(t)
  for (let round = 0; round < 2; round += 1) {
    for (const name of await readdir(folder)) {
      if (name.startsWith('state-')) await writeFile(join(folder, name, 'DAMAGED'), '')
    }
    const machine = await toyMachine(t, { folder, onDamage: () => Promise.resolve('setAside') })
    await machine.close()
  }
  t.same((await readdir(folder)).filter((name) => /^(state|damaged)-/.test(name)).toSorted(), [
    'damaged-1',
    'state-1',
  ])
})
