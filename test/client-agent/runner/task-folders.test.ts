import { execFileSync } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import t from 'tap'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { dataFolder } from './server-stand-in.ts'

void t.test('folders that a task nested deeper than a path is long are removed', async (t) => {
  const folder = new AllocationFolder(await dataFolder(t), 'one')
  await mkdir(folder.path)
  // In a process of its own, which goes down by names alone.
  const nest = `
    const { mkdirSync } = require('node:fs')
    const name = 'd'.repeat(200)
    for (let depth = 0; depth < 30; depth += 1) {
      mkdirSync(name)
      process.chdir(name)
    }`
  execFileSync(process.execPath, ['-e', nest], { cwd: folder.path })
  await folder.remove()
  await t.rejects(access(folder.path), { code: 'ENOENT' })
  await folder.remove()
})
