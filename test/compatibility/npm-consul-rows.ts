/** Every call of the npm package `consul`, made by the package itself against a running server. */
import { once } from 'node:events'
import type Consul from 'consul'
import { fieldOf } from './replay.ts'

export type HeldValues = {
  /** A node with a service. */
  readonly node: string
  /** Where a member of the pool listens. */
  readonly gossip: string
}

export type NpmRow = {
  /** As the package names it, from the client on. */
  readonly name: string
  readonly call: (consul: Consul, held: HeldValues) => Promise<unknown>
  /** Of what the call resolved with. */
  readonly expects: (value: unknown) => boolean
  readonly note?: string
}

type CallOf = NpmRow['call']

const anything = (): boolean => true
const isNothing = (value: unknown): boolean => value === undefined
const isTrue = (value: unknown): boolean => value === true
const has =
  (...fields: readonly string[]) =>
  (value: unknown): boolean =>
    fields.every((field) => fieldOf(value, field) !== undefined)
const listOf =
  (...fields: readonly string[]) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.length > 0 && has(...fields)(value[0])

function npm(name: string, call: CallOf, expects: NpmRow['expects'], note?: string): NpmRow {
  return { name, call, expects, ...(note !== undefined && { note }) }
}

/** A call that the package's types leave out. */
function untyped(object: object, method: string, ...args: readonly unknown[]): Promise<unknown> {
  const found: unknown = Reflect.get(object, method)
  if (typeof found !== 'function') throw new Error(`the package has no ${method}`)
  return Reflect.apply(found, object, args) as Promise<unknown>
}

const check = { name: 'npm-check', ttl: '600s', timeout: '1s', status: 'passing' }
const registered = async (consul: Consul): Promise<void> => {
  await consul.agent.check.register(check)
}
const session = async (consul: Consul): Promise<string> =>
  (await consul.session.create({ name: 'npm', ttl: '15s' })).ID
const sessionReads = ['ID', 'Name', 'Node', 'LockDelay', 'Behavior', 'TTL', 'CreateIndex'] as const
const id = '9d5f2c1e-3b7a-4c55-9e0d-2c1e7a6b5f49'
const query = { name: 'npm', service: { service: 'web' } }

const keys: readonly NpmRow[] = [
  npm('kv.set', (consul) => consul.kv.set('npm/a', 'one'), isTrue),
  npm(
    'kv.get',
    (consul) => consul.kv.get('npm/a'),
    has('Key', 'Value', 'Flags', 'CreateIndex', 'ModifyIndex', 'LockIndex'),
  ),
  npm(
    'kv.keys',
    (consul) => consul.kv.keys('npm/'),
    (value) => String(value) === 'npm/a',
  ),
  npm('kv.del', (consul) => consul.kv.del('npm/a'), isTrue),
  npm('kv.delete', (consul) => untyped(consul.kv, 'delete', 'npm/a'), isTrue),
  npm(
    'transaction.create',
    (consul) =>
      untyped(consul.transaction, 'create', [
        { KV: { Verb: 'set', Key: 'npm/txn', Value: 'eA==' } },
        { KV: { Verb: 'get', Key: 'npm/txn' } },
      ]),
    has('Results'),
  ),
]

const sessions: readonly NpmRow[] = [
  npm('session.create', (consul) => consul.session.create({ ttl: '15s' }), has('ID')),
  npm(
    'session.info',
    async (consul) => consul.session.info(await session(consul)),
    has(...sessionReads),
  ),
  npm(
    'session.get',
    async (consul) => consul.session.get(await session(consul)),
    has(...sessionReads),
  ),
  npm('session.node', (consul, { node }) => consul.session.node(node), listOf(...sessionReads)),
  npm('session.list', (consul) => consul.session.list(), listOf(...sessionReads)),
  npm('session.renew', async (consul) => consul.session.renew(await session(consul)), listOf('ID')),
  npm(
    'session.destroy',
    async (consul) => consul.session.destroy(await session(consul)),
    isNothing,
  ),
]

const agent: readonly NpmRow[] = [
  npm(
    'agent.self',
    (consul) => consul.agent.self(),
    has('Config.NodeName', 'Member.Name', 'Stats'),
  ),
  npm('agent.members', (consul) => consul.agent.members(), listOf('Name', 'Addr', 'Status')),
  npm('agent.reload', (consul) => consul.agent.reload(), isNothing),
  npm(
    'agent.maintenance',
    async (consul) => {
      await consul.agent.maintenance({ enable: true, reason: 'npm' })
      return consul.agent.maintenance(false)
    },
    isNothing,
  ),
  npm('agent.join', (consul, { gossip }) => consul.agent.join(gossip), isNothing),
  npm('agent.forceLeave', (consul) => consul.agent.forceLeave('nobody'), isNothing),
  npm('agent.checks', (consul) => consul.agent.checks(), anything),
  npm('agent.services', (consul) => consul.agent.services(), has('web')),
  npm('agent.check.register', registered, isNothing),
  npm('agent.check.list', (consul) => consul.agent.check.list(), has('npm-check.Status')),
  npm('agent.check.warn', (consul) => consul.agent.check.warn('npm-check'), isNothing),
  npm('agent.check.fail', (consul) => consul.agent.check.fail('npm-check'), isNothing),
  npm(
    'agent.check.pass',
    (consul) => consul.agent.check.pass({ id: 'npm-check', note: 'x' }),
    isNothing,
  ),
  npm('agent.check.deregister', (consul) => consul.agent.check.deregister('npm-check'), isNothing),
  npm(
    'agent.service.register',
    (consul) => consul.agent.service.register({ name: 'npm', port: 80, tags: ['a'] }),
    isNothing,
  ),
  npm('agent.service.list', (consul) => consul.agent.service.list(), has('npm.Port')),
  npm(
    'agent.service.maintenance',
    (consul) => consul.agent.service.maintenance({ id: 'npm', enable: false }),
    isNothing,
  ),
  npm('agent.service.deregister', (consul) => consul.agent.service.deregister('npm'), isNothing),
]

const catalog: readonly NpmRow[] = [
  npm(
    'catalog.datacenters',
    (consul) => consul.catalog.datacenters(),
    (value) => String(value) !== '',
  ),
  npm(
    'catalog.nodes',
    (consul) => untyped(consul.catalog, 'nodes'),
    listOf('Node', 'Address', 'Meta'),
  ),
  npm('catalog.node.list', (consul) => consul.catalog.node.list(), listOf('Node', 'Address')),
  npm(
    'catalog.node.services',
    (consul, { node }) => consul.catalog.node.services(node),
    has('Node', 'Services'),
  ),
  npm('catalog.services', (consul) => consul.catalog.services(), has('web')),
  npm('catalog.service.list', (consul) => consul.catalog.service.list(), has('web')),
  npm(
    'catalog.service.nodes',
    (consul) => consul.catalog.service.nodes('web'),
    listOf('Node', 'ServiceName', 'ServicePort', 'ServiceTags'),
  ),
  npm(
    'catalog.register',
    (consul) => untyped(consul.catalog, 'register', { node: 'npm', address: '10.0.0.8' }),
    isNothing,
  ),
  npm('catalog.deregister', (consul) => untyped(consul.catalog, 'deregister', 'npm'), isNothing),
  npm('catalog.connect.nodes', (consul) => consul.catalog.connect.nodes('web'), anything),
  npm('health.node', (consul, { node }) => consul.health.node(node), listOf('CheckID', 'Status')),
  npm(
    'health.checks',
    (consul) => consul.health.checks('web'),
    listOf('CheckID', 'Status', 'ServiceName'),
  ),
  npm(
    'health.service',
    (consul) => consul.health.service({ service: 'web', passing: true }),
    listOf('Node.Node', 'Service.ID', 'Service.Port', 'Checks'),
  ),
  npm('health.state', (consul) => consul.health.state('any'), listOf('CheckID', 'Status')),
]

const others: readonly NpmRow[] = [
  npm('event.fire', (consul) => consul.event.fire('npm', 'x'), has('ID', 'Name', 'LTime')),
  npm('event.list', (consul) => consul.event.list('npm'), listOf('ID', 'Name', 'Payload')),
  npm(
    'status.leader',
    (consul) => consul.status.leader(),
    (value) => String(value).includes(':'),
  ),
  npm(
    'status.peers',
    (consul) => consul.status.peers(),
    (value) => String(value).includes(':'),
  ),
  npm(
    'watch',
    async (consul) => {
      await consul.kv.set('npm/watched', 'x')
      const method = (options: { readonly key: string }) => consul.kv.get(options)
      const watch = consul.watch({ method, options: { key: 'npm/watched' } })
      try {
        const [value] = (await once(watch, 'change')) as readonly unknown[]
        return value
      } finally {
        watch.end()
      }
    },
    has('Key', 'Value'),
  ),
  npm(
    'acl.bootstrap',
    (consul) =>
      consul.acl.bootstrap().then(
        () => 'a second token',
        (error: unknown) => fieldOf(error, 'statusCode'),
      ),
    (value) => value === 403,
    'refused with 403 once there is a first token, as by Consul',
  ),
  npm('acl.replication', (consul) => consul.acl.replication(), anything),
  npm('acl.legacy.create', (consul) => consul.acl.legacy.create({ name: 'npm' }), anything),
  npm('acl.legacy.update', (consul) => consul.acl.legacy.update({ id, name: 'npm' }), anything),
  npm('acl.legacy.destroy', (consul) => consul.acl.legacy.destroy(id), anything),
  npm('acl.legacy.info', (consul) => consul.acl.legacy.info(id), anything),
  npm('acl.legacy.get', (consul) => consul.acl.legacy.get(id), anything),
  npm('acl.legacy.clone', (consul) => consul.acl.legacy.clone(id), anything),
  npm('acl.legacy.list', (consul) => consul.acl.legacy.list(), anything),
  npm('query.list', (consul) => consul.query.list(), anything),
  npm('query.create', (consul) => consul.query.create(query), anything),
  npm('query.get', (consul) => consul.query.get(id), anything),
  npm('query.update', (consul) => consul.query.update({ query: id, ...query }), anything),
  npm('query.destroy', (consul) => untyped(consul.query, 'destroy', id), anything),
  npm('query.execute', (consul) => consul.query.execute(id), anything),
  npm('query.explain', (consul) => consul.query.explain(id), anything),
]

export const npmRows: readonly NpmRow[] = [...keys, ...sessions, ...agent, ...catalog, ...others]
