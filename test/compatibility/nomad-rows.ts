/** Nomad's command line, without those of Nomad Enterprise that have no path of their own. */
import { get, gossipKey, local, noted, post, put, remove, row, rows, type Row } from './rows.ts'

const verbs = (group: string, ...names: readonly string[]) =>
  names.map((name) => `${group} ${name}`)
const keyring = '/v1/agent/keyring'
const keyReads = ['Keys', 'PrimaryKeys', 'NumNodes', 'NumResp', 'Messages']
const variable = { Path: 'compat/a', Items: { user: 'x' } }

const unknownId = '00000000-0000-4000-8000-000000000000'
const allocations = get(`/v1/allocations?prefix=${unknownId.slice(0, 8)}`)
const jobs = get('/v1/jobs?prefix=compat', ['ID', 'Namespace', 'JobSummary.Summary'])
const registered = ['EvalID', 'EvalCreateIndex', 'JobModifyIndex', 'Warnings']
const evaluation = ['ID', 'Status', 'TriggeredBy', 'FailedTGAllocs', 'BlockedEval', 'ModifyIndex']
const job = {
  ID: 'compat',
  Datacenters: ['dc1'],
  TaskGroups: [{ Name: 'compat', Tasks: [{ Name: 'compat', Driver: 'raw_exec' }] }],
}

const scaled = {
  ...job,
  ID: 'scaled',
  TaskGroups: job.TaskGroups.map((group) => ({ ...group, Scaling: { Max: 2 } })),
}

export const nomadRows: readonly Row[] = [
  row('acl bootstrap', put('/v1/acl/bootstrap', {}, [], { status: [200, 400, 403] })),
  row(
    'acl policy apply',
    post('/v1/acl/policy/compat', { Name: 'compat', Rules: 'agent { policy = "read" }' }),
  ),
  row('acl policy list', get('/v1/acl/policies', ['Name', 'Description'])),
  row('acl policy info', get('/v1/acl/policy/compat', ['Name', 'Rules', 'CreateIndex'])),
  row('acl policy self', get('/v1/acl/token/self', ['Type']), get('/v1/acl/policy/self')),
  row('acl policy delete', remove('/v1/acl/policy/compat')),
  row(
    'acl token create',
    post('/v1/acl/token', { Type: 'management' }, ['AccessorID', 'SecretID', 'Type']),
  ),
  row('acl token list', get('/v1/acl/tokens')),
  row('acl token info', get('/v1/acl/token/self', ['AccessorID', 'Type'])),
  row('acl token self', get('/v1/acl/token/self', ['AccessorID', 'Type'])),
  row(
    'acl role create',
    put('/v1/acl/policy/of-role', { Name: 'of-role', Rules: 'agent { policy = "read" }' }),
    put('/v1/acl/role', { Name: 'of-nomad', Policies: [{ Name: 'of-role' }] }, ['ID', 'Name'], {
      keep: { name: 'role', field: 'ID' },
    }),
  ),
  row(
    'acl role info',
    get('/v1/acl/role/{role}', ['ID', 'Name', 'Policies', 'CreateIndex']),
    get('/v1/acl/role/name/of-nomad', ['ID', 'Name']),
  ),
  row(
    'acl role update',
    get('/v1/acl/role/{role}', ['ID', 'Name', 'Policies']),
    put('/v1/acl/role/{role}', {
      ID: '{role}',
      Name: 'of-nomad',
      Description: 'new',
      Policies: [{ Name: 'of-role' }],
    }),
  ),
  row('acl role list', get('/v1/acl/roles', ['ID', 'Name', 'Policies'])),
  row('acl role delete', remove('/v1/acl/role/{role}')),
  ...rows(
    verbs('acl auth-method', 'create', 'delete', 'info', 'list', 'update'),
    get('/v1/acl/auth-methods'),
  ),
  ...rows(
    verbs('acl binding-rule', 'create', 'delete', 'info', 'list', 'update'),
    get('/v1/acl/binding-rules'),
  ),
  ...local(
    'agent',
    'config validate',
    'fmt',
    'job init',
    'license inspect',
    'operator gossip keyring generate',
  ),
  row('agent-info', get('/v1/agent/self', ['config', 'member.Name', 'stats'])),
  ...['checks', 'pause'].map((verb) =>
    row(`alloc ${verb}`, allocations, put(`/v1/client/allocation/${unknownId}/${verb}`)),
  ),
  row(
    'alloc exec',
    allocations,
    get(`/v1/client/allocation/${unknownId}/exec?task=web&command=%5B%22sh%22%5D`, [], {
      status: [404],
    }),
  ),
  ...['restart', 'signal'].map((verb) =>
    row(
      `alloc ${verb}`,
      allocations,
      put(`/v1/client/allocation/${unknownId}/${verb}`, {}, [], { status: [404] }),
    ),
  ),
  row('alloc fs', allocations, get(`/v1/client/fs/ls/${unknownId}`, [], { status: [404] })),
  row('alloc logs', allocations, get(`/v1/client/fs/logs/${unknownId}`, [], { status: [404] })),
  row('alloc status', allocations, get(`/v1/allocation/${unknownId}`, [], { status: [404] })),
  row(
    'alloc stop',
    allocations,
    put(`/v1/allocation/${unknownId}/stop`, {}, [], { status: [404] }),
  ),
  row('deployment list', get('/v1/deployments')),
  row(
    'deployment status',
    get('/v1/deployments?prefix='),
    get(`/v1/deployment/${unknownId}`, [], { status: [404] }),
    get(`/v1/deployment/allocations/${unknownId}`),
  ),
  ...['fail', 'promote', 'unblock'].map((verb) =>
    row(
      `deployment ${verb}`,
      put(`/v1/deployment/${verb}/${unknownId}`, { All: true }, [], { status: [404] }),
    ),
  ),
  ...['pause', 'resume'].map((verb) =>
    row(
      `deployment ${verb}`,
      put(`/v1/deployment/pause/${unknownId}`, { Pause: verb === 'pause' }, [], { status: [404] }),
    ),
  ),
  row(
    'job run',
    put('/v1/jobs', { Job: job }, registered),
    put('/v1/jobs', { Job: { ...job, Priority: 60 } }),
  ),
  row('eval list', get('/v1/evaluations', evaluation)),
  row('eval status', get('/v1/evaluations?prefix=', evaluation)),
  row('eval delete', remove('/v1/evaluations', { EvalIDs: [unknownId] })),
  row('job allocs', jobs, get('/v1/job/compat/allocations')),
  row('job eval', jobs, put('/v1/job/compat/evaluate', { JobID: 'compat' }, ['EvalID'])),
  row('job history', jobs, get('/v1/job/compat/versions?diffs=true', ['Versions', 'Diffs'])),
  row('job inspect', jobs, get('/v1/job/compat', ['ID', 'TaskGroups', 'SubmitTime'])),
  row(
    'job revert',
    jobs,
    put('/v1/job/compat/revert', { JobID: 'compat', JobVersion: 0 }, registered),
  ),
  row(
    'job status',
    jobs,
    get('/v1/job/compat', ['ID', 'Datacenters', 'Stop', 'Version']),
    get('/v1/job/compat/summary', ['Summary.compat.Running', 'Children']),
    get('/v1/job/compat/allocations'),
    get('/v1/job/compat/evaluations', evaluation),
    get('/v1/job/compat/deployment'),
  ),
  row('job action', jobs, get('/v1/job/compat/actions')),
  row('job deployments', jobs, get('/v1/job/compat/deployments')),
  row(
    'job dispatch',
    put('/v1/jobs', { Job: { ...job, ID: 'dispatched', Type: 'batch', ParameterizedJob: {} } }),
    get('/v1/job/dispatched', ['ParameterizedJob.MetaRequired']),
    put('/v1/job/dispatched/dispatch', { Meta: {}, Payload: 'eA==' }, [
      'DispatchedJobID',
      'EvalID',
      'EvalCreateIndex',
      'JobCreateIndex',
    ]),
  ),
  row(
    'job periodic force',
    put('/v1/jobs', {
      Job: { ...job, ID: 'periodic', Type: 'batch', Periodic: { Spec: '0 0 1 1 *' } },
    }),
    put('/v1/job/periodic/periodic/force', undefined, ['EvalID', 'EvalCreateIndex']),
  ),
  row(
    'job plan',
    put('/v1/job/compat/plan', { Job: job, Diff: true }, [
      'Annotations.DesiredTGUpdates.compat.Place',
      'Diff.TaskGroups',
      'JobModifyIndex',
    ]),
  ),
  row('job promote', jobs, get('/v1/job/compat/deployment')),
  row(
    'job restart',
    jobs,
    put(`/v1/client/allocation/${unknownId}/restart`, {}, [], { status: [404] }),
  ),
  row(
    'job scale',
    // A deployment would keep it from being scaled.
    put('/v1/jobs', { Job: { ...job, ID: 'counted', Type: 'batch' } }),
    put('/v1/job/counted/scale', { Count: 1, Target: { Group: 'compat' } }, ['EvalID']),
  ),
  row(
    'job scaling-events',
    jobs,
    get('/v1/job/counted/scale', ['TaskGroups.compat.Events', 'TaskGroups.compat.Placed']),
  ),
  ...rows(verbs('job tag', 'apply', 'unset'), put('/v1/job/compat/versions/compat/tag', {})),
  row('job stop', jobs, remove('/v1/job/compat?purge=false')),
  row('job start', jobs, put('/v1/jobs', { Job: job }, registered)),
  row(
    'job validate',
    put('/v1/validate/job', { Job: { ID: 'compat' } }, ['DriverConfigValidated', 'Error']),
  ),
  row('license get', get('/v1/operator/license')),
  row('login', post('/v1/acl/login', { AuthMethodName: 'x', LoginToken: 'x' })),
  noted('the log is a stream without an end, which the replay does not read', row('monitor')),
  noted(
    'but for drivers, network modes, node pools, clusters and quotas of a namespace, which are not served: 400',
    row('namespace apply', put('/v1/namespace/compat', { Name: 'compat' })),
  ),
  row('namespace list', get('/v1/namespaces', ['Name', 'Description'])),
  row('namespace inspect', get('/v1/namespace/compat', ['Name', 'CreateIndex'])),
  row('namespace status', get('/v1/namespace/compat', ['Name'])),
  row('namespace delete', remove('/v1/namespace/compat')),
  ...rows(verbs('node', 'drain', 'eligibility', 'status'), get('/v1/nodes', [], { index: true })),
  noted('it asks a client agent; no server of the replay is one', row('node config')),
  ...rows(verbs('node', 'meta apply', 'meta read'), get('/v1/client/metadata')),
  ...rows(
    verbs('node pool', 'apply', 'delete', 'info', 'init', 'jobs', 'list', 'nodes'),
    get('/v1/node/pools'),
  ),
  row('operator api', get('/v1/status/leader')),
  row(
    'operator autopilot get-config',
    get('/v1/operator/autopilot/configuration', ['CleanupDeadServers', 'LastContactThreshold']),
  ),
  row(
    'operator autopilot set-config',
    put('/v1/operator/autopilot/configuration', { CleanupDeadServers: true }),
  ),
  row(
    'operator autopilot health',
    get('/v1/operator/autopilot/health', ['Healthy', 'FailureTolerance', 'Servers']),
  ),
  row('operator client-state'),
  row(
    'operator debug',
    get('/v1/agent/self', ['config']),
    get('/v1/agent/members', ['Members']),
    get('/v1/regions'),
    get('/v1/metrics'),
    get('/v1/nodes'),
  ),
  row('operator gossip keyring list', get(`${keyring}/list`, keyReads)),
  row('operator gossip keyring install', put(`${keyring}/install`, { Key: gossipKey }, keyReads)),
  row('operator gossip keyring remove', put(`${keyring}/remove`, { Key: gossipKey }, keyReads)),
  row(
    'operator gossip keyring use',
    put(`${keyring}/use`, { Key: gossipKey }, [], { status: [200, 500, 503] }),
  ),
  row('operator metrics', get('/v1/metrics', ['Gauges', 'Counters', 'Samples'])),
  row('operator raft list-peers', get('/v1/operator/raft/configuration', ['Servers'])),
  row(
    'operator raft remove-peer',
    remove('/v1/operator/raft/peer?id=nobody', undefined, { status: [400, 404, 500] }),
  ),
  row(
    'operator raft transfer-leadership',
    put('/v1/operator/raft/transfer-leadership?id=nobody', undefined, [], {
      status: [400, 404, 500],
    }),
  ),
  ...local('operator raft info', 'operator raft logs', 'operator raft state'),
  row('operator root keyring list', get('/v1/operator/keyring/keys')),
  row('operator root keyring rotate', put('/v1/operator/keyring/rotate')),
  row(
    'operator root keyring remove',
    remove('/v1/operator/keyring/key/00000000-0000-4000-8000-000000000000', undefined, {
      status: [200, 404, 500],
    }),
  ),
  ...rows(
    verbs('operator scheduler', 'get-config', 'set-config'),
    get('/v1/operator/scheduler/configuration'),
  ),
  noted(
    "the archive is this program's own form, which the command refuses when it verifies it; use `muster operator snapshot save`",
    row('operator snapshot save', get('/v1/operator/snapshot', ["a gzip'd tar"])),
  ),
  row(
    'operator snapshot restore',
    get('/v1/operator/snapshot', [], { keep: { name: 'archive', field: 'body' } }),
    put('/v1/operator/snapshot', undefined, [], { send: 'archive' }),
  ),
  noted("reads a file, and does not know this program's archive", row('operator snapshot inspect')),
  noted("reads a file, and does not know this program's archive", row('operator snapshot state')),
  row('plugin status', get('/v1/plugins')),
  ...rows(
    verbs('quota', 'apply', 'delete', 'init', 'inspect', 'list', 'status'),
    get('/v1/quotas'),
  ),
  ...rows(verbs('recommendation', 'apply', 'dismiss', 'info', 'list'), get('/v1/recommendations')),
  row(
    'scaling policy list',
    put('/v1/jobs', { Job: scaled }),
    get('/v1/scaling/policies', ['ID', 'Enabled', 'Type', 'Target.Job', 'CreateIndex'], {
      keep: { name: 'policy', field: 'ID' },
    }),
  ),
  row(
    'scaling policy info',
    get('/v1/scaling/policies?prefix={policy}', ['ID']),
    get('/v1/scaling/policy/{policy}', ['ID', 'Enabled', 'Target.Group', 'Min', 'Max', 'Policy']),
  ),
  ...rows(verbs('sentinel', 'apply', 'delete', 'list', 'read'), get('/v1/sentinel/policies')),
  row('server force-leave', put('/v1/agent/force-leave?node=nobody')),
  row('server join', put('/v1/agent/join?address=127.0.0.1:1', undefined, ['num_joined', 'error'])),
  row(
    'server members',
    get('/v1/agent/members', ['ServerName', 'ServerRegion', 'ServerDC', 'Members']),
  ),
  ...rows(verbs('service', 'delete', 'info', 'list'), get('/v1/services')),
  ...rows(verbs('setup', 'consul', 'vault'), get('/v1/jobs')),
  row('status', post('/v1/search', { Prefix: 'a', Context: 'all' })),
  row('system gc', put('/v1/system/gc')),
  row('system reconcile summaries', put('/v1/system/reconcile/summaries')),
  ...local(
    'tls ca create',
    'tls ca info',
    'tls cert create',
    'tls cert info',
    'ui',
    'var init',
    'version',
  ),
  row('var put', put('/v1/var/compat/a', variable, ['Path', 'ModifyIndex'])),
  row(
    'var get',
    get('/v1/var/compat/a', ['Path', 'Namespace', 'Items.user', 'CreateTime', 'ModifyTime']),
  ),
  row('var list', get('/v1/vars?prefix=compat', ['Path', 'Namespace', 'CreateIndex'])),
  row('var purge', remove('/v1/var/compat/a', undefined, { status: [200, 204] })),
  row(
    'var lock',
    put(
      '/v1/var/compat/l?lock-acquire=',
      { Path: 'compat/l', Lock: { TTL: '15s', LockDelay: '15s' } },
      ['Lock.ID'],
    ),
  ),
  ...rows(
    verbs(
      'volume',
      'create',
      'delete',
      'deregister',
      'detach',
      'register',
      'snapshot create',
      'snapshot delete',
      'snapshot list',
      'status',
    ),
    get('/v1/volumes'),
  ),
]
