/** The session service's own client package, unchanged, at one agent of a cluster. Nothing else there has sessions, services or keys below `app/`. */
import { once } from 'node:events'
import Consul from 'consul'
import type { Test } from 'tap'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

type GetOptions = Parameters<Consul['kv']['get']>[0]
type WatchedEntry = { readonly Value: string | null }

type Asked = {
  /** Of the agent that is asked. */
  readonly name: string
  readonly port: number
  /** Servers and client agents that the cluster has. */
  readonly agents: number
  readonly servers: number
}

export async function clientPackageWorks(t: Test, asked: Asked): Promise<void> {
  const consul = new Consul({ host: '127.0.0.1', port: asked.port })
  await eventuallyTrue('every agent is a node', async () => {
    return ((await consul.catalog.node.list()) as unknown[]).length === asked.agents
  })

  await t.test('keys and values', async (t) => {
    t.equal(await consul.kv.set('app/db host', 'grün'), true)
    t.match(await consul.kv.get('app/db host'), { Key: 'app/db host', Value: 'grün', Flags: 0 })
    t.equal(await consul.kv.get('app/none'), undefined)
    t.equal(await consul.kv.set({ key: 'app/flags', value: 'x', flags: 42 }), true)
    t.same(await consul.kv.keys('app/'), ['app/db host', 'app/flags'])
    const all = await consul.kv.get({ key: 'app/', recurse: true })
    t.equal(Array.isArray(all) ? all.length : 0, 2)
    t.equal(await consul.kv.del({ key: 'app/', recurse: true }), true)
    t.equal(await consul.kv.get('app/flags'), undefined)
    await t.rejects(consul.kv.keys('app/'), { message: /not found/ })
  })

  await t.test('sessions and the locks they hold', async (t) => {
    const { ID: mine } = await consul.session.create({ name: 'mine', ttl: '15s', lockdelay: '1ms' })
    const { ID: other } = await consul.session.create({ name: 'other', ttl: '15s' })
    t.match(await consul.session.info(mine), { ID: mine, Name: 'mine', Node: asked.name })
    t.match(await consul.session.renew(mine), [{ ID: mine }])
    t.same((await consul.session.list()).map(({ ID }) => ID).toSorted(), [mine, other].toSorted())
    t.equal(await consul.kv.set({ key: 'lock', value: 'a', acquire: mine }), true)
    t.notOk(await consul.kv.set({ key: 'lock', value: 'b', acquire: other }))
    t.match(await consul.kv.get('lock'), { Session: mine, LockIndex: 1, Value: 'a' })
    await consul.session.destroy(mine)
    t.equal(await consul.session.info(mine), undefined)
    await eventuallyTrue('the lock is granted after its delay', async () => {
      return consul.kv.set({ key: 'lock', value: 'b', acquire: other })
    })
    t.match(await consul.kv.get('lock'), { Session: other, LockIndex: 2 })
    t.equal(await consul.kv.set({ key: 'lock', value: 'c', release: other }), true)
    await t.rejects(consul.session.renew(mine), { message: /not found/ })
  })

  await t.test('a watch tells each change', async (t) => {
    await consul.kv.set('watched', 'one')
    const readKey = (options: GetOptions) => consul.kv.get(options)
    const watch = consul.watch({ method: readKey, options: { key: 'watched' } })
    t.teardown(() => watch.end())
    const seen: (string | null | undefined)[] = []
    watch.on('change', (entry?: WatchedEntry) => seen.push(entry?.Value))
    watch.on('error', (error: Error) => t.fail(error.message))
    await eventuallyTrue('the first', () => seen.at(-1) === 'one')
    await consul.kv.set('watched', 'two')
    await eventuallyTrue('the second', () => seen.at(-1) === 'two')
    await consul.kv.del('watched')
    await eventuallyTrue('the end', () => seen.length === 3 && seen.at(-1) === undefined)
    watch.end()
    if (watch.isRunning()) await once(watch, 'end')
  })

  await t.test('services and checks of the agent', async (t) => {
    await consul.agent.service.register({ name: 'web', port: 8080, tags: ['a'] })
    await consul.agent.check.register({
      name: 'alive',
      ttl: '30s',
      timeout: '1s',
      serviceid: 'web',
    })
    t.match(await consul.agent.check.list(), { alive: { Status: 'critical', ServiceID: 'web' } })
    t.same(await passing(consul), [], 'not before its check passes')
    await consul.agent.check.pass({ id: 'alive', note: 'well' })
    const [entry] = await eventually('it passes', async () => {
      const found = await passing(consul)
      return found.length > 0 ? found : undefined
    })
    t.match(entry, { Node: { Node: asked.name }, Service: { Service: 'web', Port: 8080 } })
    t.match(await consul.catalog.service.list(), { web: ['a'] })
    t.match(await consul.health.checks('web'), [{ CheckID: 'alive', Output: 'well' }])
    await consul.agent.service.maintenance({ id: 'web', enable: true, reason: 'new disk' })
    await eventuallyTrue('maintenance takes it out', async () => {
      return (await passing(consul)).length === 0
    })
    await consul.agent.service.maintenance({ id: 'web', enable: false })
    await consul.agent.maintenance(true)
    t.match(await consul.agent.check.list(), { _node_maintenance: { Status: 'critical' } })
    await consul.agent.maintenance(false)
    t.notOk('_node_maintenance' in ((await consul.agent.check.list()) as object))
    await endsWithItsCheck(t, consul)
    await consul.agent.service.deregister('web')
    await eventuallyTrue('it is gone', async () => {
      return !('web' in ((await consul.catalog.service.list()) as object))
    })
  })

  await t.test('who leads', async (t) => {
    t.match(await consul.status.leader(), /^127\.0\.0\.1:\d+$/)
    t.equal((await consul.status.peers()).length, asked.servers)
  })
}

/** A session that rests on a check ends with it, and its lock is free. */
async function endsWithItsCheck(t: Test, consul: Consul): Promise<void> {
  const { ID: id } = await consul.session.create({ checks: ['alive'], lockdelay: '1ms' })
  t.equal(await consul.kv.set({ key: 'bound', value: '', acquire: id }), true)
  await consul.agent.check.fail('alive')
  await eventuallyTrue('the session ended', async () => {
    return (await consul.session.info(id)) === undefined
  })
  t.notMatch(await consul.kv.get('bound'), { Session: id })
  await t.rejects(consul.session.create({ checks: ['alive'] }), { message: /alive/ })
}

async function passing(consul: Consul): Promise<unknown[]> {
  return (await consul.health.service({ service: 'web', passing: true })) as unknown[]
}
