/** The files that an orchestrator puts into a pod, as they rotate. */
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { PodFiles } from '../../../src/domains/orchestrator/pod-files.ts'
import { manualClock } from '../../support/manual-clock.ts'

void t.test('files are read again when they are replaced', async (t) => {
  const folder = t.testdir({ first: { token: 'one\n', 'ca.crt': 'ca one\n' } })
  const clock = manualClock()
  // As kubelet does it: a link to a folder, which is replaced as a whole.
  await symlink('first', join(folder, '..data'))
  await symlink('..data/token', join(folder, 'token'))
  await symlink('..data/ca.crt', join(folder, 'ca.crt'))
  const files = new PodFiles(clock, folder)
  t.equal(await files.exist(), true)
  t.equal(await files.token(), 'one')
  t.equal(await files.authorities(), 'ca one')
  await mkdir(join(folder, 'second'))
  await writeFile(join(folder, 'second', 'token'), 'two')
  await writeFile(join(folder, 'second', 'ca.crt'), 'ca two')
  await symlink('second', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  t.equal(await files.token(), 'two')
  t.equal(await files.authorities(), 'ca two')
  await rm(join(folder, 'second'), { recursive: true })
  t.equal(await files.token(), null)
  t.equal(await files.authorities(), null)
})

void t.test('outside a pod there are none', async (t) => {
  const files = new PodFiles(manualClock(), join(t.testdir({}), 'missing'))
  t.equal(await files.exist(), false)
  t.equal(await files.token(), null)
  t.equal(await files.authorities(), null)
})

void t.test('an empty or endless file is none', async (t) => {
  const folder = t.testdir({ token: '\n', 'ca.crt': 'x'.repeat(300 * 1_024) })
  const files = new PodFiles(manualClock(), folder)
  t.equal(await files.token(), null)
  t.equal(await files.authorities(), null)
})
