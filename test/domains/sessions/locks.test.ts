import t, { type Test } from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Entry = {
  LockIndex: number
  Flags: number
  Value: string | null
  Session?: string
  CreateIndex: number
  ModifyIndex: number
}

class Locker {
  readonly server: ServerOfOne

  constructor(server: ServerOfOne) {
    this.server = server
  }

  async session(fields: object = {}): Promise<string> {
    const body = { Node: 'box', NodeChecks: [], LockDelay: '1ms', ...fields }
    const answer = await this.server.ask('PUT', '/v1/session/create', body)
    if (answer.status !== 200) throw new Error(answer.body)
    return (answer.json() as { ID: string }).ID
  }

  async put(key: string, query: string, value = 'v'): Promise<string> {
    const { status, body } = await this.server.ask('PUT', `/v1/kv/${key}${query}`, value)
    return status === 200 ? body : `${status}`
  }

  async entry(key: string): Promise<Entry | undefined> {
    const answer = await this.server.ask('GET', `/v1/kv/${key}`)
    return answer.status === 404 ? undefined : (answer.json() as Entry[])[0]
  }

  async alive(id: string): Promise<boolean> {
    const answer = await this.server.ask('GET', `/v1/session/info/${id}`)
    return (answer.json() as unknown[]).length > 0
  }

  async destroy(id: string): Promise<void> {
    await this.server.ask('PUT', `/v1/session/destroy/${id}`)
  }

  async check(id: string, status: string, more: object = {}): Promise<void> {
    const Check = { CheckID: id, Name: id, Status: status, ...more }
    await this.server.ask('PUT', '/v1/catalog/register', {
      Node: 'box',
      Address: '10.0.0.9',
      Check,
    })
  }
}

async function locker(t: Test): Promise<Locker> {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/catalog/register', {
    Node: 'box',
    Address: '10.0.0.9',
    Service: { ID: 'web1', Service: 'web' },
    Checks: [
      { CheckID: 'disk', Name: 'disk', Status: 'passing' },
      { CheckID: 'up', Name: 'up', Status: 'passing', ServiceID: 'web1' },
    ],
  })
  return new Locker(server)
}

void t.test('a lock is held by one session at a time', async (t) => {
  const locks = await locker(t)
  const [a, b] = [await locks.session(), await locks.session()]
  t.equal(await locks.put('k', `?acquire=${a.toUpperCase()}&flags=9`, 'a'), 'true')
  const held = await locks.entry('k')
  t.match(held, { LockIndex: 1, Session: a, Flags: 9 })
  t.equal(await locks.put('k', `?acquire=${b}`, 'b'), 'false')
  t.same(await locks.entry('k'), held, 'nothing changed')
  t.equal(await locks.put('k', `?acquire=${a}`, 'a2'), 'true', 'again by the holder')
  t.match(await locks.entry('k'), { LockIndex: 1, Session: a })

  t.equal(await locks.put('k', '', 'plain'), 'true', 'locks are advisory')
  t.match(await locks.entry('k'), { LockIndex: 1, Session: a })

  t.equal(await locks.put('k', `?release=${b}`), 'false')
  t.equal(await locks.put('k', `?release=${a}`, ''), 'true')
  const released = await locks.entry('k')
  t.match(released, { LockIndex: 1, Value: null, Flags: 0 })
  t.notOk(released?.Session)
  t.equal(await locks.put('k', `?release=${a}`), 'false', 'it is free')
  t.equal(await locks.put('none', `?release=${a}`), 'false')

  t.equal(await locks.put('k', `?acquire=${b}`, 'b'), 'true', 'no delay after a release')
  t.match(await locks.entry('k'), { LockIndex: 2, CreateIndex: held?.CreateIndex })
})

void t.test('the end of a session releases or deletes what it holds, in one entry', async (t) => {
  const locks = await locker(t)
  const keeper = await locks.session()
  const remover = await locks.session({ Behavior: 'delete' })
  for (const key of ['k1', 'k2']) await locks.put(key, `?acquire=${keeper}&flags=5`, key)
  await locks.put('d', `?acquire=${remover}`, 'd')
  await locks.put('d/below', '', 'x')
  await locks.put('freed', `?acquire=${remover}`)
  await locks.put('freed', `?release=${remover}`)

  await locks.destroy(keeper)
  const [k1, k2] = [await locks.entry('k1'), await locks.entry('k2')]
  t.equal(k1?.ModifyIndex, k2?.ModifyIndex)
  t.match(k1, { LockIndex: 1, Flags: 5, Value: Buffer.from('k1').toString('base64') })
  t.notOk(k1?.Session)
  await locks.destroy(remover)
  t.equal(await locks.entry('d'), undefined)
  t.ok(await locks.entry('d/below'))
  t.ok(await locks.entry('freed'))
})

void t.test('no LockIndex of a key comes twice, however long it was gone', async (t) => {
  const locks = await locker(t)
  const a = await locks.session()
  for (let n = 0; n < 3; n += 1) {
    await locks.put('gone', `?acquire=${a}`)
    await locks.put('gone', `?release=${a}`)
  }
  await locks.put('stays', `?acquire=${a}`)
  await locks.put('stays', `?release=${a}`)
  await locks.server.ask('DELETE', '/v1/kv/gone')
  const future = Date.now() + 3_600_000
  const args = { tombstonesBeforeMs: future, delaysBeforeMs: future }
  t.same((await locks.server.propose({ type: 'kv.reap', args })).outcome, { removed: 1 })

  t.equal(await locks.put('gone', ''), 'true')
  t.match(await locks.entry('gone'), { LockIndex: 0 }, 'never locked since it is there')
  t.equal(await locks.put('gone', `?acquire=${a}`), 'true')
  t.match(await locks.entry('gone'), { LockIndex: 4 })
  t.equal(await locks.put('gone', `?release=${a}`), 'true')
  t.equal(await locks.put('gone', `?acquire=${a}`), 'true')
  t.match(await locks.entry('gone'), { LockIndex: 5 })
  t.equal(await locks.put('stays', `?acquire=${a}`), 'true')
  t.match(await locks.entry('stays'), { LockIndex: 2 }, 'a key that was there all the time')
})

void t.test('deleting a locked key drops the lock, and the LockIndex goes on', async (t) => {
  const locks = await locker(t)
  const [a, b] = [await locks.session({ LockDelay: '60s' }), await locks.session()]
  await locks.put('k', `?acquire=${a}`)
  await locks.server.ask('DELETE', '/v1/kv/k')
  t.ok(await locks.alive(a))
  t.equal(await locks.put('k', `?acquire=${b}`), 'true', 'without delay')
  t.match(
    await locks.entry('k'),
    { LockIndex: 2, Session: b },
    'no earlier holder has the same token',
  )
})

void t.test('a lock delay holds a key back, under either behavior', async (t) => {
  const locks = await locker(t)
  for (const Behavior of ['release', 'delete']) {
    const key = `delayed-${Behavior}`
    const a = await locks.session({ LockDelay: '60s', Behavior })
    const b = await locks.session()
    await locks.put(key, `?acquire=${a}`)
    await locks.destroy(a)
    t.equal(await locks.put(key, `?acquire=${b}`), 'false', Behavior)
    t.equal(await locks.put(`${key}/below`, `?acquire=${b}`), 'true')
    t.equal(await locks.put(key, '?cas=0'), Behavior === 'delete' ? 'true' : 'false')
    t.equal(await locks.put(key, ''), 'true', 'only locking is held back')
    const txn = await locks.server.ask('PUT', '/v1/txn', [
      { KV: { Verb: 'lock', Key: key, Session: b } },
    ])
    t.equal(txn.status, 409)
    t.match(txn.body, /lock.*delay/)
    const operation = {
      type: 'lock',
      namespace: 'default',
      key,
      session: b,
      value: Buffer.alloc(0),
      flags: '0',
    }
    const write = (nowMs: number) =>
      locks.server.propose({
        type: 'kv.write',
        args: { operations: [operation], fence: null, nowMs: Math.floor(nowMs) },
      })
    t.match((await write(Date.now() + 50_000)).outcome, { type: 'refused' })
    t.match((await write(Date.now() + 60_001)).outcome, { type: 'done' }, 'and not for longer')
  }
  const [a, b] = [await locks.session({ LockDelay: '60s' }), await locks.session()]
  await locks.put('released', `?acquire=${a}`)
  await locks.put('released', `?release=${a}`)
  await locks.destroy(a)
  t.equal(await locks.put('released', `?acquire=${b}`), 'true', 'a release starts none')
})

void t.test('a session ends with what it is bound to', async (t) => {
  const rows: [what: string, fields: object, loss: (locks: Locker) => Promise<unknown>][] = [
    [
      'a check turns critical',
      { NodeChecks: ['Disk'] },
      (locks) => locks.check('disk', 'critical'),
    ],
    [
      'a check is removed',
      { NodeChecks: ['disk'] },
      ({ server }) => server.ask('PUT', '/v1/catalog/deregister', { Node: 'box', CheckID: 'disk' }),
    ],
    [
      'a service is removed with its check',
      { ServiceChecks: [{ ID: 'up' }] },
      ({ server }) =>
        server.ask('PUT', '/v1/catalog/deregister', { Node: 'box', ServiceID: 'web1' }),
    ],
    [
      'the node is removed',
      {},
      ({ server }) => server.ask('PUT', '/v1/catalog/deregister', { Node: 'BOX' }),
    ],
  ]
  for (const [what, fields, loss] of rows) {
    await t.test(what, async (t) => {
      const locks = await locker(t)
      const bound = await locks.session({ ...fields, LockDelay: '60s' })
      const other = await locks.session()
      await locks.put('k', `?acquire=${bound}`)
      await locks.check('disk', 'warning')
      t.ok(await locks.alive(bound), 'a warning ends nothing')
      const before = locks.server.machine.appliedIndex
      await loss(locks)
      t.notOk(await locks.alive(bound))
      t.equal(await locks.alive(other), what !== 'the node is removed')
      const entry = await locks.entry('k')
      t.notOk(entry?.Session)
      t.equal(entry?.ModifyIndex, before + 1, 'in the same entry')
      const list = await locks.server.ask('GET', '/v1/session/list')
      t.equal(list.headers['x-service-index'], String(before + 1))
      const next = await locks.server
        .ask('PUT', '/v1/catalog/register', { Node: 'box', Address: '10.0.0.9' })
        .then(() => locks.session())
      t.equal(await locks.put('k', `?acquire=${next}`), 'false', 'the lock delay runs')
      await locks.check('disk', 'passing')
      t.notOk(await locks.alive(bound), 'nothing comes back')
    })
  }
})

void t.test('a write may depend on a lock', async (t) => {
  const locks = await locker(t)
  const [a, b] = [await locks.session(), await locks.session()]
  await locks.put('leader', `?acquire=${a}`)
  t.equal(await locks.put('data', '?lock=leader&lock_index=1', 'one'), 'true')
  t.equal(await locks.put('data', '?lock=leader&lock_index=2'), '409')
  t.equal(await locks.put('data', '?lock=none&lock_index=1'), '409')
  await locks.put('leader', `?release=${a}`)
  t.equal(await locks.put('data', '?lock=leader&lock_index=1', 'two'), '409', 'nobody holds it')
  await locks.put('leader', `?acquire=${b}`)
  const refused = await locks.server.ask('PUT', '/v1/kv/data?lock=leader&lock_index=1', 'two')
  t.equal(refused.status, 409)
  t.match(refused.body, /^the lock "leader" is not held with LockIndex 1 any more: [^\n]*$/)
  t.equal(await locks.put('data', '?lock=leader&lock_index=2', 'three'), 'true')

  const txn = (index: number) =>
    locks.server.ask('PUT', `/v1/txn?lock=leader&lock_index=${index}`, [
      { KV: { Verb: 'get', Key: 'data' } },
    ])
  t.equal((await txn(1)).status, 409)
  t.equal((await txn(2)).status, 200)
  t.equal((await locks.server.ask('DELETE', '/v1/kv/data?lock=leader&lock_index=1')).status, 409)
  t.equal(
    (await locks.server.ask('DELETE', '/v1/kv/?recurse&lock=leader&lock_index=1')).status,
    409,
  )

  const variable = (index: number, method = 'PUT') =>
    locks.server.ask(method, `/v1/var/app?lock=leader&lock_index=${index}`, { Items: { a: 'b' } })
  t.equal((await variable(1)).status, 409)
  t.match((await variable(1)).body, /lock/)
  t.equal((await variable(2)).status, 200)
  t.equal((await variable(1, 'DELETE')).status, 409)
  t.equal((await variable(2, 'DELETE')).status, 200)
})
