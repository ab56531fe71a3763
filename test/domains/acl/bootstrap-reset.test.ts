/** The file that lets access control begin once more is good for one beginning, also after a restore. */
import { readFile, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { BootstrapReset, type ResetFile } from '../../../src/domains/acl/bootstrap-reset.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { resetFileIn } from '../../../src/server/acl-reset.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function begun(t: Test) {
  const file = resetFileIn(t.testdir())
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true, resetFile: file } })
  return { file, server, root: await first(server) }
}

async function first(server: ServerOfOne): Promise<string> {
  const answer = await server.ask('PUT', '/v1/acl/bootstrap')
  if (answer.status !== 200) throw new Error(answer.body)
  return (answer.json() as { SecretID: string }).SecretID
}

async function refusedIndex(t: Test, server: ServerOfOne): Promise<number> {
  const { status, body } = await server.ask('PUT', '/v1/acl/bootstrap')
  t.equal(status, 400, body)
  return Number(/reset index: (\d+)/.exec(body)?.[1])
}

const isGone = (file: ResetFile) =>
  readFile(file.path).then(
    () => false,
    () => true,
  )

t.test(
  'a file that was used is gone, and a restore of before does not bring it back',
  async (t) => {
    const { file, server, root } = await begun(t)
    const { bytes } = await server.ask('GET', '/v1/operator/snapshot', undefined, root)
    const index = await refusedIndex(t, server)
    await writeFile(file.path, `${index}\n`)
    const second = await first(server)
    t.ok(await isGone(file))
    const restored = await server.ask('PUT', '/v1/operator/snapshot', bytes, second)
    t.equal(restored.status, 200, restored.body)
    t.equal(await refusedIndex(t, server), index, 'it is the index of the archive again')
  },
)

t.test('one that a server has when a state is restored goes with the state before', async (t) => {
  const { file, server, root } = await begun(t)
  const { bytes } = await server.ask('GET', '/v1/operator/snapshot', undefined, root)
  const index = await refusedIndex(t, server)
  await writeFile(file.path, `${index}`)
  await server.ask('PUT', '/v1/operator/snapshot', bytes, root)
  t.equal(await refusedIndex(t, server), index)
  t.ok(await isGone(file))
  await writeFile(file.path, `${index}`)
  await first(server)
})

t.test('one of another beginning is removed when it is found', async (t) => {
  const { file, server } = await begun(t)
  const index = await refusedIndex(t, server)
  for (const number of [index - 1, index + 1]) {
    await writeFile(file.path, `${number}`)
    t.equal(await refusedIndex(t, server), index)
    t.ok(await isGone(file), 'by a refusal')
  }
  await writeFile(file.path, `${index + 1}`)
  const duty = server.startDuty('acl')
  t.teardown(() => duty.stop())
  await eventuallyTrue('by a leader that begins', () => isGone(file))
})

t.test('a server that may be behind keeps what may be of a later beginning', async (t) => {
  const file = resetFileIn(t.testdir())
  const reset = new BootstrapReset({ file, presentIndex: () => 20, log: silentLogger })
  for (const index of [20, 21]) {
    await writeFile(file.path, `${index}`)
    await reset.removeStale(false)
    t.equal(await reset.read(), index)
  }
  await writeFile(file.path, '19')
  await reset.removeStale(false)
  t.equal(await reset.read(), null)
})

t.test('a file that cannot be removed is named in the log', async (t) => {
  const file: ResetFile = {
    path: '/data/acl-bootstrap-reset',
    read: async () => 19,
    remove: () => Promise.reject(new Error('the disk is read-only')),
  }
  const warned: unknown[] = []
  const log = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) }
  await new BootstrapReset({ file, presentIndex: () => 20, log }).removeStale(true)
  t.match(warned, [[/remove it/, { path: file.path, error: /read-only/ }]])
})

t.test('a state that cannot be asked any more is no defect', async (t) => {
  const file = resetFileIn(t.testdir())
  await writeFile(file.path, '7')
  const presentIndex = () => {
    throw new Error('the state is closed')
  }
  await new BootstrapReset({ file, presentIndex, log: silentLogger }).removeStale(true)
  t.notOk(await isGone(file))
})
