/** A state that is damaged: set aside where it can be built anew, refused where it cannot. */
import { readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { temporaryFolder, ToyLog, toyMachine } from './toy.ts'

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
    await t.rejects(toyMachine(t, { folder }), { code: 'corrupt' }, 'where nothing else has it')
    const lines: string[] = []
    const logger = { ...silentLogger, error: (message: string) => void lines.push(message) }
    const machine = await toyMachine(t, {
      folder,
      logger,
      onDamage: () => Promise.resolve('setAside'),
    })
    t.equal(machine.appliedIndex, 0)
    t.same(lines, ['the state cannot be opened; it is set aside and built anew'])
    await machine.apply(new ToyLog(machine).put('space', 'name').take())
    await machine.close()
    const again = await toyMachine(t, { folder })
    t.equal(again.appliedIndex, 1, 'the next start finds the new one')
  })
}

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
