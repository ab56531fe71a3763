/**
 * What Terraform's `consul` backend asks, call by call as Consul's client in Go writes it: it reads the state, takes the lock, saves
 * the state by a transaction of one operation, in pieces when it is too large for one, and lets the lock go.
 */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

/** Of a lock, as the client marks it. */
const lockFlags = '3304740253564472344'
const nulls = { Node: null, Service: null, Check: null }
const path = 'terraform/prod'
/** Of one key; the backend cuts its state into these. */
const pieceBytes = 524_288

type TxnAnswer = {
  Results: { KV: { Key: string; ModifyIndex: number } }[] | null
  Errors: { What: string }[] | null
}

async function started(t: Test): Promise<ServerOfOne> {
  const server = await serverOfOne(t)
  const own = {
    Node: 'one',
    Address: '127.0.0.1',
    Check: { CheckID: 'gossipHealth', Name: 'Agent membership', Status: 'passing' },
  }
  t.equal((await server.ask('PUT', '/v1/catalog/register', own)).status, 200)
  return server
}

/** As the client in Go says `Put` of one operation; `index`: of the state that was read, 0: none was. */
async function save(server: ServerOfOne, state: Buffer, index: number) {
  const KV = {
    Verb: index === 0 ? 'set' : 'cas',
    Key: path,
    Value: state.toString('base64'),
    Flags: 0,
    Index: index,
    Session: '',
  }
  return server.ask('PUT', '/v1/txn', [{ KV, ...nulls }])
}

async function lock(t: Test, server: ServerOfOne): Promise<string> {
  const created = await server.ask('PUT', '/v1/session/create', {
    LockDelay: '5000ms',
    Name: 'Consul API Lock',
    TTL: '15s',
  })
  t.equal(created.status, 200, created.body)
  const { ID: session } = created.json() as { ID: string }
  await server.ask('GET', `/v1/kv/${path}/.lock?consistent=&wait=1000ms`)
  const acquire = `acquire=${session}&flags=${lockFlags}`
  const answer = await server.ask('PUT', `/v1/kv/${path}/.lock?${acquire}`, Buffer.from(''))
  if (answer.body === 'true') {
    const info = Buffer.from(JSON.stringify({ ID: session, Operation: 'OperationTypeApply' }))
    t.equal((await server.ask('PUT', `/v1/kv/${path}/.lockinfo`, info)).body, 'true')
    t.equal((await server.ask('PUT', `/v1/session/renew/${session}`)).status, 200)
  }
  return answer.body === 'true' ? session : ''
}

async function unlock(t: Test, server: ServerOfOne, session: string): Promise<void> {
  const release = `release=${session}&flags=${lockFlags}`
  t.equal((await server.ask('PUT', `/v1/kv/${path}/.lock?${release}`)).body, 'true')
  const found = await server.ask('GET', `/v1/kv/${path}/.lock`)
  const [{ ModifyIndex } = { ModifyIndex: 0 }] = found.json() as { ModifyIndex: number }[]
  t.equal((await server.ask('DELETE', `/v1/kv/${path}/.lock?cas=${ModifyIndex}`)).body, 'true')
  t.equal((await server.ask('DELETE', `/v1/kv/${path}/.lockinfo`)).body, 'true')
  t.equal((await server.ask('PUT', `/v1/session/destroy/${session}`)).status, 200)
}

void t.test('the state is read, locked, saved, saved again and let go', async (t) => {
  const server = await started(t)
  t.equal((await server.ask('GET', `/v1/kv/${path}`)).status, 404, 'there is no state yet')
  const session = await lock(t, server)
  t.not(session, '')
  t.equal(await lock(t, server), '', 'nobody else has the lock')
  const info = await server.ask('GET', `/v1/kv/${path}/.lockinfo?raw`)
  t.match(info.json(), { ID: session }, 'who has it can be read')

  const first = await save(server, Buffer.from('{"serial":1}'), 0)
  t.equal(first.status, 200, first.body)
  const { Results } = first.json() as TxnAnswer
  t.equal(Results?.length, 1)
  const index = Results?.[0]?.KV.ModifyIndex ?? 0
  const second = await save(server, Buffer.from('{"serial":2}'), index)
  t.equal(second.status, 200, second.body)
  const stale = await save(server, Buffer.from('{"serial":3}'), index)
  t.equal(stale.status, 409, 'a state that somebody else saved meanwhile is kept')
  t.match(stale.json(), { Results: null, Errors: [{ OpIndex: 0, What: /another index/ }] })
  t.equal((await server.ask('GET', `/v1/kv/${path}?raw`)).body, '{"serial":2}')
  await unlock(t, server, session)
  t.same((await server.ask('GET', `/v1/kv/${path}/?keys`)).status, 404, 'nothing is left of it')
})

void t.test('a state that is too large goes in pieces, which are removed with it', async (t) => {
  const server = await started(t)
  const state = Buffer.alloc(pieceBytes + 1000, 'x')
  const refused = await save(server, state, 0)
  t.equal(refused.status, 413)
  t.match(refused.body, /too large/, 'the words that the backend looks for')
  const hash = createHash('md5').update(state).digest('hex')
  const chunks: string[] = []
  for (let at = 0; at * pieceBytes < state.length; at += 1) {
    const key = `${path}/tfstate.${hash}/${at}`
    const piece = state.subarray(at * pieceBytes, (at + 1) * pieceBytes)
    t.equal((await server.ask('PUT', `/v1/kv/${key}`, piece)).body, 'true')
    chunks.push(key)
  }
  const link = Buffer.from(JSON.stringify({ 'current-hash': hash, chunks }))
  t.equal((await save(server, link, 0)).status, 200)
  const read: Buffer[] = []
  for (const key of chunks) read.push((await server.ask('GET', `/v1/kv/${key}?raw`)).bytes)
  t.ok(Buffer.concat(read).equals(state))
  const removed = await server.ask('DELETE', `/v1/kv/${path}/tfstate.${hash}/?recurse=`)
  t.equal(removed.body, 'true')
  t.equal((await server.ask('GET', `/v1/kv/${chunks[0]}`)).status, 404)
})

void t.test('workspaces are listed by their keys', async (t) => {
  const server = await started(t)
  for (const key of [path, `${path}-env:staging`]) {
    t.equal((await server.ask('PUT', `/v1/kv/${key}`, Buffer.from('{}'))).body, 'true')
  }
  const listed = await server.ask('GET', `/v1/kv/${path}-env:?keys=&separator=/`)
  t.same(listed.json(), [`${path}-env:staging`])
})
