import t from 'tap'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keyAgeMaxMs, retiredKeyKeptMs } from '../../../src/domains/variables/keyring-model.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { movableClock } from '../../support/movable-clock.ts'
import { hastyClock, serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Key = { KeyID: string; State: string; CreateTime: number; CreateIndex: number }

/** Timers that hurry, and a wall clock that can be moved. */
const hastyMovableClock = () => movableClock(hastyClock(20))

async function keysOf(server: ServerOfOne): Promise<readonly Key[]> {
  return (await server.ask('GET', '/v1/operator/keyring/keys')).json() as Key[]
}

async function activeOf(server: ServerOfOne): Promise<string> {
  return (await keysOf(server)).find(({ State }) => State === 'active')?.KeyID ?? ''
}

async function sealedWith(server: ServerOfOne, keyId: string, count: number): Promise<boolean> {
  return Array.from({ length: count }, (_, n) => server.sealedRow('default', `v${n}`)?.keyId).every(
    (id) => id === keyId,
  )
}

void t.test('a rotation seals everything anew and changes nothing else', async (t) => {
  const clock = hastyMovableClock()
  const server = await serverOfOne(t, { clock })
  const first = await activeOf(server)
  const count = 400
  for (let n = 0; n < count; n++) {
    await server.ask('PUT', `/v1/var/v${n}`, { Items: { n: String(n) } })
  }
  const list = await server.ask('GET', '/v1/vars')
  const before = server.sealedRow('default', 'v7')

  const rotated = await server.ask('PUT', '/v1/operator/keyring/rotate?full')
  t.equal(rotated.status, 200)
  t.match(rotated.json(), { Key: { State: 'active', Algorithm: 'aes256-gcm' } })
  const second = await activeOf(server)
  t.not(second, first)
  t.match(await keysOf(server), [{ State: /active/ }, { State: /active/ }])
  await eventuallyTrue('all are sealed with the new key', () => sealedWith(server, second, count))

  const after = await server.ask('GET', '/v1/vars')
  t.equal(after.body, list.body, 'no index and no time moved')
  t.equal(after.headers['x-service-index'], list.headers['x-service-index'], 'nobody is woken')
  t.not(server.sealedRow('default', 'v7')?.sealed, before?.sealed)
  t.match((await server.ask('GET', '/v1/var/v7')).json(), { Items: { n: '7' } })

  t.equal((await keysOf(server)).length, 2, 'the old key stays for a while')
  clock.aheadMs = retiredKeyKeptMs
  await eventuallyTrue('the unused key goes', async () => (await keysOf(server)).length === 1)
  t.equal(await activeOf(server), second)
  t.equal((await server.ask('GET', '/v1/var/v0')).status, 200)
})

void t.test('a rotation that is to wait, or of another algorithm, is refused', async (t) => {
  const server = await serverOfOne(t)
  const first = await activeOf(server)
  const rotate = (search: string) => server.ask('PUT', `/v1/operator/keyring/rotate${search}`)
  const later = await rotate('?publish_time=1999999999000000000')
  t.match(later, { status: 501, body: /used at once/ })
  t.match(await rotate('?algo=rsa'), { status: 400, body: /aes256-gcm/ })
  t.equal(await activeOf(server), first)
  t.equal((await rotate('?algo=aes256-gcm')).status, 200)
})

void t.test('a key that is old is replaced by itself', async (t) => {
  const clock = hastyMovableClock()
  const server = await serverOfOne(t, { clock })
  const first = await activeOf(server)
  clock.aheadMs = keyAgeMaxMs
  await eventually('another key', async () =>
    (await activeOf(server)) === first ? undefined : true,
  )
})

void t.test('a new leader goes on with what the last one left', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const quick = () => server.startDuty('keyring')
  const one = quick()
  const first = await eventually('the first key', async () => (await activeOf(server)) || undefined)
  await one.stop()
  for (let n = 0; n < 5; n++) await server.ask('PUT', `/v1/var/v${n}`, { Items: { n: 'x' } })
  await server.ask('PUT', '/v1/operator/keyring/rotate')
  t.ok(await sealedWith(server, first, 5), 'nobody does it while there is no leader')
  const two = quick()
  const second = await activeOf(server)
  await eventuallyTrue('the new leader does', () => sealedWith(server, second, 5))
  await two.stop()
})

void t.test('sealing anew loses against a write', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/var/a', { Items: { v: 'old' } })
  const row = server.sealedRow('default', 'a')
  if (row === undefined) throw new Error('it is there')
  const entry = {
    namespace: 'default',
    path: 'a',
    modifyIndex: row.modifyIndex,
    fromKeyId: row.keyId,
    keyId: row.keyId,
    sealed: row.sealed,
  }
  await server.ask('PUT', '/v1/var/a', { Items: { v: 'new' } })
  const late = await server.propose({ type: 'variables.reseal', args: { entries: [entry] } })
  t.same(late.outcome, { replaced: 0 })
  await server.ask('DELETE', '/v1/var/a')
  const gone = await server.propose({ type: 'variables.reseal', args: { entries: [entry] } })
  t.same(gone.outcome, { replaced: 0 })
  t.equal(server.sealedRow('default', 'a'), undefined)
})

void t.test('a key that is in use or active is not removed', async (t) => {
  const server = await serverOfOne(t)
  const id = await activeOf(server)
  const remove = async () =>
    (await server.propose({ type: 'keyring.remove', args: { id } })).outcome
  t.same(await remove(), { type: 'active' })
  await server.ask('PUT', '/v1/var/a', { Items: { v: 'x' } })
  const { outcome } = await server.propose({
    type: 'keyring.add',
    args: { id: 'k', clusterKeyId: 'c', wrapped: new Uint8Array(61), timeMs: 1, replaces: id },
  })
  t.match(outcome, { type: 'added' })
  t.same(await remove(), { type: 'inUse' })
  const twice = await server.propose({
    type: 'keyring.add',
    args: { id: 'l', clusterKeyId: 'c', wrapped: new Uint8Array(61), timeMs: 1, replaces: id },
  })
  t.match(twice.outcome, { type: 'superseded', activeId: 'k' })
})

void t.test('no secret is in the folder of the state', async (t) => {
  const server = await serverOfOne(t)
  const secret = 'a-planted-secret-0123456789'
  await server.ask('PUT', '/v1/var/a', { Items: { [`key-${secret}`]: secret } })
  const archive = await server.ask('GET', '/v1/operator/snapshot')
  t.equal(archive.status, 200)
  t.notOk(archive.bytes.includes(secret))
  await server.machine.flush()
  const clusterKey = server.clusterKeys.candidate()
  const folder = join(server.folder, 'state')
  let files = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    files++
    const bytes = await readFile(join(entry.parentPath, entry.name))
    t.notOk(bytes.includes(secret), entry.name)
    t.notOk(clusterKey !== null && bytes.includes(clusterKey.bytes), entry.name)
  }
  t.ok(files > 0)
})
