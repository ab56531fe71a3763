/** Recovery on the data folder of a stopped server, as the command line asks for it. */
import { chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { claimDataFolder } from '../../src/process/data-folder.ts'
import { openRecovery, type OpenRecovery } from '../../src/process/recover.ts'
import { encodeConfiguration } from '../../src/raft/core/membership.ts'
import type { Configuration, Entry } from '../../src/raft/core/message.ts'
import { readStoppedLog } from '../../src/raft/quorum-recovery.ts'
import { openDurableLog } from '../../src/raft/storage/durable-log.ts'
import { systemDisk } from '../../src/raft/storage/system-disk.ts'
import { writtenFolder } from '../support/written-folder.ts'

const self = 'aaaaaaaa-0000-4000-8000-000000000001'
const other = 'bbbbbbbb-0000-4000-8000-000000000002'

function clusterAt(address: string): Configuration {
  return {
    clusterId: 'old',
    members: [
      { id: self, name: 's1', address: '127.0.0.1:2', role: 'voter' },
      { id: other, name: 's2', address, role: 'voter' },
    ],
  }
}

/** The folder of a server that stopped with three entries, of which the first is known to be committed. */
async function stopped(t: Test, configuration = clusterAt('127.0.0.1:1')): Promise<string> {
  const folder = join(writtenFolder(t), 'data')
  await mkdir(folder)
  await writeFile(join(folder, 'server.json'), `{"version":1,"id":"${self}"}`)
  const { store } = await openDurableLog(await systemDisk(join(folder, 'raft')))
  const first: Entry = {
    index: 1,
    term: 1,
    kind: 'configuration',
    data: encodeConfiguration(configuration),
  }
  const noop = (index: number): Entry => ({ index, term: 2, kind: 'noop', data: new Uint8Array() })
  const hardState = { term: 2, votedFor: other, commitIndex: 1 }
  await store.write([{ truncateFrom: null, entries: [first, noop(2), noop(3)], hardState }])
  await store.close()
  return folder
}

async function opened(t: Test, path: string, peersFile: string | null = null) {
  const recovery: OpenRecovery = await openRecovery({ folder: { type: 'path', path }, peersFile })
  t.teardown(() => recovery.close())
  return recovery
}

void t.test('it says what is there, and makes the server a cluster of its own', async (t) => {
  const folder = await stopped(t)
  const recovery = await opened(t, folder)
  t.match(recovery.report, {
    serverId: self,
    lastIndex: 3,
    lastTerm: 2,
    provenIndex: 1,
    isDone: false,
    answering: [],
    hasClusterKey: false,
    before: { clusterId: 'old' },
    after: { members: [{ id: self, role: 'voter' }] },
  })
  const { configuration: still } = await readStoppedLog(join(folder, 'raft'))
  t.equal(still.clusterId, 'old', 'nothing is written before it is told to')
  await recovery.perform()
  const { configuration, recovered } = await readStoppedLog(join(folder, 'raft'))
  t.same(configuration, recovery.report.after)
  t.match(recovered.hardState, { term: 2, votedFor: other }, 'the vote stands')
  await recovery.close()
  t.match((await opened(t, folder)).report, { isDone: true })
})

void t.test('a file of peers names whom it likes', async (t) => {
  const folder = await stopped(t)
  const file = join(folder, '..', 'peers.json')
  await writeFile(file, JSON.stringify([{ id: self }, { id: other, non_voter: true }]))
  const { report } = await opened(t, folder, file)
  t.same(
    report.after.members.map(({ name, role }) => `${name} ${role}`),
    ['s1 voter', 's2 learner'],
  )
  await t.rejects(opened(t, folder, join(folder, 'none')), { code: 'invalid_argument' })
})

void t.test('a folder that cannot be taken is left as it is', async (t) => {
  const empty = t.testdir({ empty: {} })
  await t.rejects(opened(t, join(empty, 'empty')), { code: 'not_found' })
  t.same(await readdir(join(empty, 'empty')), [])
  await t.rejects(opened(t, join(empty, 'none')), { code: 'not_found' })

  const folder = await stopped(t)
  const claimed = await claimDataFolder(folder)
  await t.rejects(opened(t, folder), { code: 'conflict', message: /is in use by process/ })
  await claimed.release()
})

void t.test('a server that was never in a cluster has none to recover', async (t) => {
  const folder = join(writtenFolder(t), 'data')
  await mkdir(join(folder, 'raft'), { recursive: true })
  await writeFile(join(folder, 'server.json'), `{"version":1,"id":"${self}"}`)
  await t.rejects(opened(t, folder), { code: 'conflict', message: /never was in a cluster/ })
})

void t.test('a server that was removed is not recovered as if nothing was', async (t) => {
  const all = clusterAt('127.0.0.1:1')
  const folder = await stopped(t, { ...all, members: all.members.slice(1) })
  await t.rejects(opened(t, folder), { code: 'conflict', message: /no member of its cluster/ })
})

void t.test('a damaged log is named, and the folder is given free', async (t) => {
  const folder = await stopped(t)
  const [name = ''] = await readdir(join(folder, 'raft'))
  const file = join(folder, 'raft', name)
  const bytes = await readFile(file)
  bytes.writeUInt8(bytes.readUInt8(200) ^ 0xff, 200)
  await writeFile(file, bytes)
  await t.rejects(opened(t, folder), { code: 'corrupt', message: /is damaged at byte/ })
  await (await claimDataFolder(folder)).release()
})

void t.test('whoever still answers at the address of another server is named', async (t) => {
  const listener = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => listener.close())
  const { port } = listener.address() as AddressInfo
  const { report } = await opened(t, await stopped(t, clusterAt(`127.0.0.1:${port}`)))
  t.same(report.answering, [`s2 (${other}) at 127.0.0.1:${port}`])
})

const isRoot = process.getuid?.() === 0

void t.test('it is run by the user that the server runs as', { skip: !isRoot }, async (t) => {
  const folder = await stopped(t)
  await chown(folder, 1, 1)
  await t.rejects(opened(t, folder), { code: 'conflict', message: /belongs to user 1/ })
})
