import t from 'tap'
import { randomBytes } from 'node:crypto'
import { writeFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeArchive } from '../../../src/domains/operator/archive.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function fill(server: ServerOfOne, count: number, value: string): Promise<void> {
  for (let n = 0; n < count; n++) {
    await server.ask('PUT', `/v1/var/v${n}`, { Items: { value } })
  }
}

void t.test('who leads and who is there', async (t) => {
  const server = await serverOfOne(t)
  t.equal((await server.ask('GET', '/v1/status/leader')).body, '"127.0.0.1:4647"')
  t.same((await server.ask('GET', '/v1/status/peers')).json(), ['127.0.0.1:4647'])
  const configuration = {
    Index: 1,
    Servers: [
      {
        ID: 's1',
        Node: 'one',
        Address: '127.0.0.1:4647',
        Leader: true,
        Voter: true,
        RaftProtocol: '3',
        ProtocolVersion: '3',
        Status: 'alive',
      },
    ],
  }
  t.same((await server.ask('GET', '/v1/operator/raft/configuration')).json(), configuration)
  server.leaderIsGone = true
  t.equal((await server.ask('GET', '/v1/status/leader')).body, '""', 'its process is gone')
  t.match((await server.ask('GET', '/v1/operator/raft/configuration')).json(), {
    Servers: [{ Leader: false }],
  })
  server.leaderIsGone = false
  server.leaderIsKnown = false
  t.equal((await server.ask('GET', '/v1/status/leader')).body, '""')
  t.match((await server.ask('GET', '/v1/operator/raft/configuration')).json(), {
    Servers: [{ Leader: false }],
  })
})

void t.test('membership and handover refuse what cannot be', async (t) => {
  const server = await serverOfOne(t)
  const cases = [
    ['PUT', '/v1/operator/raft/transfer-leadership', 409, /no other voter/],
    ['PUT', '/v1/operator/raft/transfer-leadership?id=nope', 404, /no server of this cluster/],
    ['PUT', '/v1/operator/raft/transfer-leadership?id=a&address=b', 400, /not by both/],
    ['DELETE', '/v1/operator/raft/peer', 400, /name the server/],
    ['DELETE', '/v1/operator/raft/peer?address=1.2.3.4:5', 404, /no server of this cluster/],
    ['DELETE', '/v1/operator/raft/peer?id=s1', 409, /only voter/],
  ] as const
  for (const [method, url, status, text] of cases) {
    const answer = await server.ask(method, url)
    t.equal(answer.status, status, url)
    t.match(answer.body, text)
  }
})

void t.test('an archive restores a running cluster', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/namespace/prod', { Description: 'live' })
  await fill(server, 30, 'before')
  const list = await server.ask('GET', '/v1/vars')
  const archive = await server.ask('GET', '/v1/operator/snapshot')
  t.equal(archive.status, 200)
  t.match(archive.headers, { 'content-type': 'application/x-muster-snapshot' })

  await fill(server, 5, 'after')
  await server.ask('PUT', '/v1/var/new', { Items: { value: 'x' } })
  await server.ask('PUT', '/v1/operator/keyring/rotate')
  const index = server.machine.appliedIndex
  const restored = await server.ask('PUT', '/v1/operator/snapshot', archive.bytes)
  t.equal(restored.status, 200, restored.body)
  const { Index } = restored.json() as { Index: number }
  t.ok(Index > index)

  const after = await server.ask('GET', '/v1/vars')
  t.equal(after.body, list.body)
  t.ok(Number(after.headers['x-service-index']) >= Index, 'no index falls')
  t.match((await server.ask('GET', '/v1/var/v3')).json(), { Items: { value: 'before' } })
  t.equal((await server.ask('GET', '/v1/var/new')).status, 404)
  t.match((await server.ask('GET', '/v1/namespace/prod')).json(), { Description: 'live' })
  t.equal((await server.ask('PUT', '/v1/var/v3', { Items: { value: 'on' } })).status, 200)
  t.same(await readdir(join(server.folder, 'restore')), [], 'the file on the way in is gone')
})

void t.test('an archive restores a fresh cluster that has the cluster key', async (t) => {
  const folder = t.testdir()
  const keyFile = join(folder, 'cluster.key')
  await writeFile(keyFile, randomBytes(32).toString('base64'))
  const old = await serverOfOne(t, { keyFile })
  for (let round = 0; round < 20; round++) await fill(old, 3, 'kept')
  const archive = await old.ask('GET', '/v1/operator/snapshot')

  const stranger = await serverOfOne(t)
  const refused = await stranger.ask('PUT', '/v1/operator/snapshot', archive.bytes)
  t.equal(refused.status, 400)
  t.match(refused.body, /set server\.keyring_key_file to the key file of the cluster it was saved/)
  t.same((await stranger.ask('GET', '/v1/vars')).json(), [])

  const fresh = await serverOfOne(t, { keyFile })
  t.equal((await fresh.ask('PUT', '/v1/operator/snapshot', archive.bytes)).status, 200)
  const read = await fresh.ask('GET', '/v1/var/v1')
  t.match(read.json(), { Items: { value: 'kept' } })

  const index = Number(read.headers['x-service-index'])
  t.ok(index <= fresh.machine.appliedIndex, 'of this log, not of the old one')
  const waiting = fresh.ask('GET', `/v1/var/v1?index=${index}&wait=30s`)
  await eventuallyTrue('it is parked', () => fresh.machine.watchStats().parked === 1)
  await fill(fresh, 3, 'changed')
  const changed = await waiting
  t.match(changed.json(), { Items: { value: 'changed' } })
  t.ok(Number(changed.headers['x-service-index']) > index)
})

void t.test('an archive of a cluster that ran at newer commands is refused', async (t) => {
  const server = await serverOfOne(t)
  const newer = commandVersion + 1
  const header = { index: 9, term: 1, createdMs: 0, commandVersion: newer, clusterKeys: [] }
  const parts: Uint8Array[] = []
  async function* none(): AsyncGenerator<Uint8Array> {}
  for await (const part of writeArchive(header, none(), () => ({ rows: 0, digest: '' }))) {
    parts.push(part)
  }
  const refused = await server.ask('PUT', '/v1/operator/snapshot', Buffer.concat(parts))
  t.equal(refused.status, 400)
  t.match(
    refused.body,
    new RegExp(`saved at command version ${newer}, this cluster runs at ${commandVersion}`),
  )
})

void t.test('a damaged archive changes nothing', async (t) => {
  const server = await serverOfOne(t)
  await fill(server, 3, 'kept')
  const { bytes } = await server.ask('GET', '/v1/operator/snapshot')
  const index = server.machine.appliedIndex
  const flipped = Buffer.from(bytes)
  const middle = Math.floor(bytes.length / 2)
  flipped[middle] = (flipped[middle] ?? 0) ^ 1
  const newer = Buffer.from(
    bytes.toString('latin1').replace('"version":1', '"version":9'),
    'latin1',
  )
  const cases = [
    ['empty', Buffer.alloc(0)],
    ['cut', bytes.subarray(0, -1)],
    ['cut in the middle', bytes.subarray(0, middle)],
    ['longer', Buffer.concat([bytes, bytes])],
    ['flipped', flipped],
    ['newer', newer],
    ['none', Buffer.from('hello')],
  ] as const
  for (const [name, archive] of cases) {
    const answer = await server.ask('PUT', '/v1/operator/snapshot', archive)
    t.equal(answer.status, 400, `${name}: ${answer.body}`)
  }
  t.equal(server.machine.appliedIndex, index, 'nothing was proposed')
})
