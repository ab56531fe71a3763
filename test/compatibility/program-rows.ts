/** What libraries and programs ask that know Consul's API: by the calls that their sources make. */
import { base64, get, post, put, remove, row, type Row } from './rows.ts'

const index = { index: true }
const sessionReads = ['ID', 'Name', 'Node', 'LockDelay', 'Behavior', 'TTL', 'CreateIndex']
const session = put('/v1/session/create', { Name: 'program', TTL: '15s' }, ['ID'], {
  keep: { name: 'session', field: 'ID' },
})
const kvReads = ['Key', 'Value', 'Flags', 'CreateIndex', 'ModifyIndex', 'LockIndex']
const healthReads = [
  'Node.Node',
  'Node.Address',
  'Node.Datacenter',
  'Service.ID',
  'Service.Port',
  'Service.Tags',
  'Service.Meta',
  'Checks',
]
/** Passing, as a failing check of the node would take all of its services out of the answers. */
const check = { Name: 'compat-check', TTL: '600s', Status: 'passing' }

export const pythonConsulRows: readonly Row[] = [
  row(
    'health.service, checks, node, state',
    get('/v1/health/service/web?passing=1', healthReads, index),
    get('/v1/health/checks/web', [], index),
    get('/v1/health/node/{node}', ['CheckID'], index),
    get('/v1/health/state/any', ['Status'], index),
  ),
  row('acl.list', get('/v1/acl/list')),
  row('acl.info', get('/v1/acl/info/x')),
  row('acl.create', put('/v1/acl/create', {})),
  row('acl.update', put('/v1/acl/update', { ID: 'x' })),
  row('acl.clone', put('/v1/acl/clone/x')),
  row('acl.destroy', put('/v1/acl/destroy/x')),
  row('agent.self', get('/v1/agent/self', ['Config', 'Member'])),
  row('agent.members', get('/v1/agent/members', ['Name', 'Addr', 'Status'])),
  row('agent.services, agent.checks', get('/v1/agent/services'), get('/v1/agent/checks')),
  row(
    'agent.maintenance',
    put('/v1/agent/maintenance?enable=true'),
    put('/v1/agent/maintenance?enable=false'),
  ),
  row('agent.join', get('/v1/agent/join/{gossip}')),
  row('agent.force_leave', get('/v1/agent/force-leave/nobody')),
  row(
    'agent.service.register, deregister',
    put('/v1/agent/service/register', { name: 'py' }),
    get('/v1/agent/service/deregister/py'),
  ),
  row(
    'agent.service.maintenance',
    put('/v1/agent/service/register', { name: 'py' }),
    put('/v1/agent/service/maintenance/py?enable=false'),
    put('/v1/agent/service/deregister/py'),
  ),
  row(
    'agent.check.ttl_fail, ttl_warn',
    put('/v1/agent/check/register', check),
    get('/v1/agent/check/fail/compat-check'),
    get('/v1/agent/check/warn/compat-check'),
  ),
  row(
    'agent.check.ttl_pass',
    put('/v1/agent/check/register', check),
    get('/v1/agent/check/pass/compat-check'),
  ),
  row(
    'agent.check.register, deregister',
    put('/v1/agent/check/register', check),
    get('/v1/agent/check/deregister/compat-check'),
  ),
  row(
    'catalog.register, deregister',
    put('/v1/catalog/register', { node: 'py', address: '10.0.0.9' }),
    put('/v1/catalog/deregister', { node: 'py' }),
  ),
  row(
    'catalog.datacenters, nodes, node',
    get('/v1/catalog/datacenters'),
    get('/v1/catalog/nodes', ['Node'], index),
    get('/v1/catalog/node/{node}', ['Node', 'Services'], index),
  ),
  row(
    'catalog.services, service',
    get('/v1/catalog/services', [], index),
    get('/v1/catalog/service/web', ['ServiceName'], index),
  ),
  row(
    'coordinate.datacenters, nodes',
    get('/v1/coordinate/datacenters', ['Datacenter']),
    get('/v1/coordinate/nodes', ['Node', 'Coord'], index),
  ),
  row(
    'event.fire, list',
    put('/v1/event/fire/py', 'x', ['ID', 'Name']),
    get('/v1/event/list?name=py', ['ID', 'LTime'], index),
  ),
  row(
    'kv.get, put, delete',
    put('/v1/kv/py?flags=1', 'x'),
    get('/v1/kv/py', kvReads, index),
    remove('/v1/kv/py?cas=0', undefined, {}),
    remove('/v1/kv/py'),
  ),
  row('query.list', get('/v1/query')),
  row('query.create', post('/v1/query', { Service: { Service: 'web' } })),
  row('query.get, update, delete', get('/v1/query/x')),
  row('query.execute, explain', get('/v1/query/x/execute')),
  row(
    'session.create, renew, info, node, list, destroy',
    session,
    put('/v1/session/renew/{session}', undefined, ['ID']),
    get('/v1/session/info/{session}', sessionReads, index),
    get('/v1/session/node/{node}', sessionReads, index),
    get('/v1/session/list', sessionReads, index),
    put('/v1/session/destroy/{session}'),
  ),
  row('status.leader, peers', get('/v1/status/leader'), get('/v1/status/peers')),
  row('operator.raft_config', get('/v1/operator/raft/configuration', ['Servers'])),
]

export const programRows: readonly Row[] = [
  row(
    'Patroni: session, members, leader key, failover',
    put(
      '/v1/session/create',
      { name: 'batman-pg1', checks: [], lockdelay: '0.001s', ttl: '15s', behavior: 'delete' },
      ['ID'],
      { keep: { name: 'session', field: 'ID' } },
    ),
    put('/v1/kv/service/batman/members/pg1?acquire={session}', '{}'),
    get('/v1/kv/service/batman/?recurse=1', kvReads, index),
    put('/v1/kv/service/batman/leader?acquire={session}', 'pg1'),
    put('/v1/session/renew/{session}', undefined, ['ID']),
    put('/v1/kv/service/batman/initialize?cas=0', '7'),
    get('/v1/kv/service/batman/leader?index=1&wait=1s', kvReads, index),
    remove('/v1/kv/service/batman/?recurse=1'),
  ),
  row(
    'Patroni: register_service',
    get('/v1/agent/self', ['Config.NodeName']),
    put('/v1/agent/service/register', { name: 'batman', id: 'batman/pg1', port: 5432 }),
    put('/v1/agent/service/deregister/batman%2Fpg1'),
  ),
  row(
    'Terraform, backend consul: state',
    get('/v1/kv/terraform?raw=', [], { status: [404] }),
    put(
      '/v1/txn',
      [{ KV: { Verb: 'set', Key: 'terraform', Value: base64('{}'), Flags: 0 } }],
      ['Results'],
    ),
    get('/v1/kv/terraform', kvReads, index),
  ),
  row(
    'Terraform, backend consul: lock',
    put(
      '/v1/session/create',
      { Name: 'Terraform', TTL: '15s', LockDelay: '5s', Behavior: 'release' },
      ['ID'],
      { keep: { name: 'session', field: 'ID' } },
    ),
    put('/v1/kv/terraform/.lock?acquire={session}&flags=3304740253564472344', 'x'),
    put('/v1/kv/terraform/.lockinfo', '{}'),
    put('/v1/session/renew/{session}', undefined, ['ID']),
    remove('/v1/kv/terraform/.lockinfo'),
    put('/v1/kv/terraform/.lock?release={session}', 'x'),
    put('/v1/session/destroy/{session}'),
  ),
  row(
    'Traefik, Consul catalog provider',
    get('/v1/catalog/services?filter=', [], index),
    get('/v1/health/service/web?passing=1', healthReads, index),
  ),
  row('Traefik, Consul catalog provider with connect', get('/v1/agent/connect/ca/roots')),
  row(
    'Traefik, Consul key provider',
    put('/v1/kv/traefik/http/a', 'x'),
    get('/v1/kv/traefik?recurse=', kvReads, index),
    get('/v1/kv/traefik?recurse=&index=1&wait=1s', kvReads, index),
  ),
  row(
    'Prometheus, consul_sd_configs with a datacenter',
    get('/v1/catalog/services?index=1&wait=1s&stale=', [], index),
    get(
      '/v1/health/service/web?stale=',
      [...healthReads, 'Node.TaggedAddresses', 'Node.Meta'],
      index,
    ),
  ),
  row('Prometheus, consul_sd_configs without one', get('/v1/agent/self', ['Config.Datacenter'])),
]
