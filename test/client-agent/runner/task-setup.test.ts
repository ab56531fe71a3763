/** What a task finds in its folders when it starts, also where an earlier run of it left links there. */
import { mkdir, readFile, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SetupOf } from '../../../src/client-agent/runner/setup-of.ts'
import { AllocationFolder } from '../../../src/client-agent/runner/task-folders.ts'
import { setUpTask, toStart } from '../../../src/client-agent/runner/task-setup.ts'
import { memoryUnlimitedMb } from '../../../src/domains/allocations/model.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import { assignedOf } from './assigned-of.ts'

const id = '01234567-0000-4000-8000-000000000000'
const payload = Buffer.from([0, 1, 254, 255])

type Setting = { readonly setup: SetupOf; readonly local: string; readonly elsewhere: string }

function setting(t: Test, file: string): Setting {
  const root = t.testdir({ allocations: {}, elsewhere: {} })
  const task = { Name: 'main', Driver: 'mock_driver', DispatchPayload: { File: file } }
  const draft = { ID: 'j', TaskGroups: [{ Name: 'g', Tasks: [task] }] }
  const [group] = withDefaults(draft, 'default').TaskGroups
  const [main] = group?.Tasks ?? []
  if (group === undefined || main === undefined) throw new Error('there is a task')
  const assigned = { ...assignedOf(id, group), payload: payload.toString('base64') }
  const spec = {
    name: 'box',
    datacenter: 'dc1',
    nodeClass: '',
    attributes: [],
    meta: [],
    hostVolumes: [],
  }
  const facts = { id: 'n', region: 'global', address: '10.0.0.1', spec, environment: {} }
  const folder = new AllocationFolder(join(root, 'allocations'), id)
  const setup = { assigned, task: main, facts, folder, driver: null }
  return { setup, local: folder.of('main').local, elsewhere: join(root, 'elsewhere') }
}

t.test('the payload of a dispatch is the file that the task wants, byte by byte', async (t) => {
  const { setup, local } = setting(t, 'in/data.bin')
  await setUpTask(setup)
  t.strictSame(await readFile(join(local, 'in/data.bin')), payload)
  await setUpTask(setup)
  t.strictSame(await readFile(join(local, 'in/data.bin')), payload, 'also at its next start')
})

t.test('a payload is written into no folder that the task made a link of', async (t) => {
  const { setup, local, elsewhere } = setting(t, 'in/data.bin')
  await mkdir(local, { recursive: true })
  await symlink(elsewhere, join(local, 'in'))
  await t.rejects(setUpTask(setup), { code: 'permission_denied' })
  t.strictSame(await readdir(elsewhere), [])
})

t.test('a payload is written to no file that the task made a link of', async (t) => {
  const { setup, local, elsewhere } = setting(t, 'data.bin')
  await mkdir(local, { recursive: true })
  await symlink(join(elsewhere, 'made'), join(local, 'data.bin'))
  await setUpTask(setup)
  t.strictSame(await readdir(elsewhere), [])
  t.strictSame(await readFile(join(local, 'data.bin')), payload, 'the link is replaced')
})

t.test('a payload outside of the folder local is refused', async (t) => {
  const { setup } = setting(t, '../secrets/x')
  await t.rejects(setUpTask(setup), { code: 'invalid_argument' })
})

t.test('a task may use the memory that its allocation says', async (t) => {
  const { setup } = setting(t, 'a')
  const { assigned } = setup
  await setUpTask(setup)
  const maxOf = async (memory: { readonly memoryMaxMb?: number }) => {
    const tasks = [{ task: 'main', cpuMhz: 1, memoryMb: 9, ...memory }]
    const resources = { ...assigned.resources, tasks }
    return (await toStart({ ...setup, assigned: { ...assigned, resources } })).resources.memoryMaxMb
  }
  t.equal(await maxOf({}), 9)
  t.equal(await maxOf({ memoryMaxMb: 20 }), 20)
  t.equal(await maxOf({ memoryMaxMb: memoryUnlimitedMb }), null)
})
