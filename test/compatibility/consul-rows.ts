/** Consul's command line, after its registry of commands, without those of Consul Enterprise. */
import {
  get,
  gossipKey,
  local,
  noted,
  post,
  put,
  remove,
  row,
  rows,
  unset,
  type Row,
} from './rows.ts'

const self = get('/v1/agent/self', ['Config.NodeName', 'Config.Datacenter', 'Member.Name', 'Stats'])
const session = put('/v1/session/create', { Name: 'compat', TTL: '15s' }, ['ID'], {
  keep: { name: 'session', field: 'ID' },
})
const policy = { Name: 'compat', Description: '', Rules: 'key "a" { policy = "read" }' }
const policyReads = ['ID', 'Name', 'Rules', 'CreateIndex', 'ModifyIndex']
const tokenReads = ['AccessorID', 'SecretID', 'Policies', 'Local', 'CreateTime']
/** As Go prints a token whose fields were not set. */
const token = {
  AccessorID: '',
  SecretID: '',
  Description: '',
  Policies: [{ ID: '', Name: 'compat' }],
  Local: false,
  CreateTime: '0001-01-01T00:00:00Z',
  ...unset,
}
const role = { Name: 'compat', Description: '', Policies: [{ ID: '', Name: 'compat' }] }
const roleReads = ['ID', 'Name', 'Policies']
const configEntry = get('/v1/config/service-defaults')
const intentions = get('/v1/connect/intentions')
const peering = get('/v1/peerings')
const resource = get('/api/demo/v2/artist')

export const consulRows: readonly Row[] = [
  noted(
    'replayed where there is a first token: 403 in the words of Consul',
    row('acl bootstrap', put('/v1/acl/bootstrap', undefined, [], { status: [403] })),
  ),
  row(
    'acl policy create',
    put('/v1/acl/policy', { ID: '', ...policy, Datacenters: null, ...unset }, policyReads, {
      keep: { name: 'policy', field: 'ID' },
    }),
  ),
  row('acl policy list', get('/v1/acl/policies', ['ID', 'Name'])),
  row(
    'acl policy read',
    get('/v1/acl/policy/{policy}', policyReads),
    get('/v1/acl/policy/name/compat', policyReads),
  ),
  noted(
    'but for `-name` beside `-id`: a policy keeps its name',
    row(
      'acl policy update',
      get('/v1/acl/policies', ['ID', 'Name']),
      get('/v1/acl/policy/{policy}', policyReads),
      put(
        '/v1/acl/policy/{policy}',
        { ID: '{policy}', ...policy, Description: 'new', Datacenters: null, ...unset },
        policyReads,
      ),
    ),
  ),
  row(
    'acl policy delete',
    put('/v1/acl/policy', { ...policy, Name: 'gone' }, policyReads, {
      keep: { name: 'gone', field: 'ID' },
    }),
    get('/v1/acl/policies', ['ID', 'Name']),
    remove('/v1/acl/policy/{gone}'),
    get('/v1/acl/policy/{gone}', [], { status: [404] }),
  ),
  row('acl set-agent-token', put('/v1/agent/token/agent', { Token: 'x' })),
  row(
    'acl token create',
    put('/v1/acl/token', token, tokenReads, { keep: { name: 'token', field: 'AccessorID' } }),
  ),
  row(
    'acl token clone',
    get('/v1/acl/tokens', ['AccessorID']),
    put('/v1/acl/token/{token}/clone', { Description: '' }, tokenReads, {
      keep: { name: 'clone', field: 'AccessorID' },
    }),
  ),
  row('acl token list', get('/v1/acl/tokens', ['AccessorID', 'CreateTime', 'Local'])),
  noted(
    'without the secret, of which the cluster keeps a hash alone; `-self` shows it',
    row(
      'acl token read',
      get('/v1/acl/token/{token}', tokenReads),
      get('/v1/acl/token/self', tokenReads),
    ),
  ),
  row(
    'acl token update',
    get('/v1/acl/token/{token}', tokenReads),
    put(
      '/v1/acl/token/{token}',
      { ...token, AccessorID: '{token}', Description: 'new', Policies: [{ ID: '{policy}' }] },
      tokenReads,
    ),
  ),
  row(
    'acl token delete',
    get('/v1/acl/tokens', ['AccessorID']),
    remove('/v1/acl/token/{clone}'),
    get('/v1/acl/token/{clone}', [], { status: [404] }),
  ),
  row(
    'acl role create',
    put('/v1/acl/role', { ID: '', ...role, ...unset }, roleReads, {
      keep: { name: 'role', field: 'ID' },
    }),
  ),
  row('acl role list', get('/v1/acl/roles', ['ID', 'Name'])),
  row(
    'acl role read',
    get('/v1/acl/role/{role}', roleReads),
    get('/v1/acl/role/name/compat', roleReads),
  ),
  noted(
    'but for `-name`: a role keeps its name',
    row(
      'acl role update',
      get('/v1/acl/role/{role}', roleReads),
      put(
        '/v1/acl/role/{role}',
        { ID: '{role}', ...role, Description: 'new', ...unset },
        roleReads,
      ),
    ),
  ),
  row(
    'acl role delete',
    get('/v1/acl/role/name/compat', roleReads),
    remove('/v1/acl/role/{role}'),
    get('/v1/acl/role/{role}', [], { status: [404] }),
  ),
  ...rows(
    ['create', 'list', 'read', 'update', 'delete'].map((verb) => `acl auth-method ${verb}`),
    get('/v1/acl/auth-methods'),
  ),
  ...rows(
    ['create', 'list', 'read', 'update', 'delete'].map((verb) => `acl binding-rule ${verb}`),
    get('/v1/acl/binding-rules'),
  ),
  ...rows(
    ['list', 'read', 'preview'].map((verb) => `acl templated-policy ${verb}`),
    get('/v1/acl/templated-policies'),
  ),
  ...local('agent'),
  row('catalog datacenters', get('/v1/catalog/datacenters')),
  row(
    'catalog nodes',
    get('/v1/catalog/nodes', ['ID', 'Node', 'Address', 'Datacenter', 'TaggedAddresses', 'Meta']),
  ),
  row('catalog services', get('/v1/catalog/services')),
  ...rows(['config delete', 'config list', 'config read', 'config write'], configEntry),
  ...rows(['connect ca get-config', 'connect ca set-config'], get('/v1/connect/ca/configuration')),
  ...rows(
    ['connect proxy', 'connect envoy', 'connect expose', 'connect redirect-traffic'],
    get('/v1/agent/connect/ca/roots'),
  ),
  ...local('connect envoy pipe-bootstrap'),
  noted(
    'keeps agent, host, members and Raft; metrics, log and profiles come by paths that are not served',
    row(
      'debug',
      get('/v1/agent/self', [
        'Config.Version',
        'DebugConfig.EnableDebug',
        'DebugConfig.ACLsEnabled',
      ]),
      get('/v1/agent/host'),
      get('/v1/agent/members?wan=1', ['Name']),
      get('/v1/operator/raft/configuration', ['Servers']),
      get('/v1/agent/metrics/stream'),
    ),
  ),
  row('event', self, put('/v1/event/fire/compat', 'payload', ['ID', 'Name', 'Version', 'LTime'])),
  row(
    'exec',
    self,
    put('/v1/session/create', { Name: 'Remote Exec', Behavior: 'delete', TTL: '15s' }, ['ID'], {
      keep: { name: 'session', field: 'ID' },
    }),
    put('/v1/kv/_rexec/{session}/job?acquire={session}&flags=0', '{}'),
    put('/v1/event/fire/_rexec', '{}', ['ID']),
  ),
  row('force-leave', put('/v1/agent/force-leave/compat')),
  row('info', self),
  ...rows(
    ['check', 'create', 'delete', 'get', 'list', 'match'].map((verb) => `intention ${verb}`),
    intentions,
  ),
  row('join', put('/v1/agent/join/{gossip}')),
  ...local('keygen'),
  noted(
    '`-relay-factor` above 0 is refused; the list has one row, as there is one pool',
    row(
      'keyring',
      get('/v1/operator/keyring?relay-factor=0', [
        'WAN',
        'Datacenter',
        'Keys',
        'PrimaryKeys',
        'NumNodes',
      ]),
      post('/v1/operator/keyring', { Key: gossipKey }),
      put('/v1/operator/keyring', { Key: '{primary}' }, [], { status: [200, 400] }),
      remove('/v1/operator/keyring', { Key: gossipKey }),
    ),
  ),
  row('kv put', put('/v1/kv/compat?flags=7', 'value')),
  row(
    'kv get',
    get('/v1/kv/compat', ['Key', 'Value', 'Flags', 'CreateIndex', 'ModifyIndex', 'LockIndex']),
  ),
  row('kv export', get('/v1/kv/comp?recurse=', ['Key', 'Value', 'Flags'])),
  row('kv import', put('/v1/kv/imported', 'value')),
  row('kv delete', remove('/v1/kv/imported'), remove('/v1/kv/imp?recurse=')),
  row('leave', put('/v1/agent/leave')),
  row(
    'lock',
    self,
    session,
    put('/v1/kv/compat/.lock?acquire={session}&flags=3304740253564472344', 'x'),
    get('/v1/kv/compat/.lock?wait=15000ms', ['Session', 'Flags']),
    put('/v1/kv/compat/.lock?release={session}', 'x'),
    put('/v1/session/destroy/{session}'),
  ),
  ...rows(['login'], post('/v1/acl/login', { AuthMethod: 'x', BearerToken: 'x' })),
  ...rows(['logout'], post('/v1/acl/logout')),
  row(
    'maint',
    self,
    put('/v1/agent/maintenance?enable=true&reason=compat'),
    get('/v1/agent/checks'),
    put('/v1/agent/maintenance?enable=false'),
  ),
  row(
    'members',
    get('/v1/agent/members?segment=_all', [
      'Name',
      'Addr',
      'Port',
      'Tags',
      'Status',
      'ProtocolCur',
    ]),
  ),
  noted('the log is a stream without an end, which the replay does not read', row('monitor')),
  row(
    'operator autopilot get-config',
    get('/v1/operator/autopilot/configuration', [
      'CleanupDeadServers',
      'LastContactThreshold',
      'MaxTrailingLogs',
      'MinQuorum',
    ]),
  ),
  row(
    'operator autopilot set-config',
    put('/v1/operator/autopilot/configuration', { CleanupDeadServers: true }),
  ),
  row(
    'operator autopilot state',
    get('/v1/operator/autopilot/state', ['Healthy', 'Servers', 'Leader']),
  ),
  row('operator raft list-peers', get('/v1/operator/raft/configuration', ['Servers', 'Index'])),
  row(
    'operator raft remove-peer',
    remove('/v1/operator/raft/peer?id=nobody', undefined, { status: [400, 404, 500] }),
  ),
  row('operator raft transfer-leader', {
    ...post('/v1/operator/raft/transfer-leader?id=nobody'),
    status: [400, 404, 500],
  }),
  row('operator usage instances', get('/v1/operator/usage')),
  ...rows(
    ['delete', 'establish', 'exported-services', 'generate-token', 'list', 'read'].map(
      (verb) => `peering ${verb}`,
    ),
    peering,
  ),
  row('reload', put('/v1/agent/reload')),
  ...rows(['resource apply', 'resource delete', 'resource list', 'resource read'], resource),
  row(
    'rtt',
    self,
    get('/v1/coordinate/nodes', [
      'Node',
      'Segment',
      'Coord.Vec',
      'Coord.Height',
      'Coord.Adjustment',
    ]),
    get('/v1/coordinate/datacenters', ['Datacenter', 'AreaID', 'Coordinates']),
  ),
  row(
    'services register',
    put('/v1/agent/service/register', { Name: 'compat', Port: 80, Check: { TTL: '60s' } }),
  ),
  row('services deregister', put('/v1/agent/service/deregister/compat')),
  ...rows(['services export', 'services exported-services'], get('/v1/exported-services')),
  row(
    'snapshot save',
    get('/v1/snapshot', [], { keep: { name: 'snapshot', field: 'body' }, index: true }),
  ),
  row('snapshot restore', put('/v1/snapshot', undefined, [], { send: 'snapshot' })),
  noted(
    'reads the file: index, term and size; the state is one kind, `Unknown(120)`',
    row('snapshot inspect'),
  ),
  noted('reads the file; this state is one kind that it does not know', row('snapshot decode')),
  ...local('tls ca create', 'tls cert create', 'tls cert renew'),
  ...rows(['troubleshoot proxy', 'troubleshoot upstreams'], get('/v1/agent/connect/ca/roots')),
  ...local('troubleshoot ports', 'validate', 'version'),
  row(
    'watch',
    get('/v1/kv/compat?index=1&wait=1s', ['Key'], { index: true }),
    get('/v1/event/list?index=5&wait=1s', [], { index: true }),
    get('/v1/catalog/services', [], { index: true }),
  ),
]
