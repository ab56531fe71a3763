/** The table of commands. A new command is a file in `verbs` and a row here. */
import type { AgentArguments } from './verbs/agent.ts'
import { deploymentVerbs } from './verbs/deployment/verbs.ts'
import { scalingVerbs } from './verbs/scaling/verbs.ts'
import type { OpenRecovery } from './verbs/raft/recover.ts'
import { allocVerbs } from './verbs/alloc/verbs.ts'
import { jobVerbs } from './verbs/job/verbs.ts'
import { nodeVerbs } from './verbs/node/verbs.ts'
import type { Verbs } from './verb.ts'

export type VerbOptions = {
  readonly version: string
  readonly runAgent: (args: AgentArguments) => Promise<void>
  readonly openRecovery: OpenRecovery
}

export function makeVerbs({ version, runAgent, openRecovery }: VerbOptions): Verbs {
  return {
    'acl bootstrap': {
      summary: 'Makes the first token',
      load: async () => (await import('./verbs/acl/bootstrap.ts')).aclBootstrap,
    },
    'acl explain': {
      summary: 'Tells why a token may make a request or may not',
      load: async () => (await import('./verbs/acl/explain.ts')).aclExplain,
    },
    'acl policy apply': {
      summary: 'Creates a policy or replaces it',
      load: async () => (await import('./verbs/acl/policy-apply.ts')).aclPolicyApply,
    },
    'acl policy delete': {
      summary: 'Deletes a policy',
      load: async () => (await import('./verbs/acl/delete.ts')).aclPolicyDelete,
    },
    'acl policy list': {
      summary: 'Lists policies',
      load: async () => (await import('./verbs/acl/list.ts')).aclPolicyList,
    },
    'acl policy read': {
      summary: 'Shows a policy with its rules',
      load: async () => (await import('./verbs/acl/policy-read.ts')).aclPolicyRead,
    },
    'acl role apply': {
      summary: 'Creates a role or replaces it',
      load: async () => (await import('./verbs/acl/role-apply.ts')).aclRoleApply,
    },
    'acl role delete': {
      summary: 'Deletes a role',
      load: async () => (await import('./verbs/acl/delete.ts')).aclRoleDelete,
    },
    'acl role list': {
      summary: 'Lists roles',
      load: async () => (await import('./verbs/acl/list.ts')).aclRoleList,
    },
    'acl role read': {
      summary: 'Shows a role',
      load: async () => (await import('./verbs/acl/role-read.ts')).aclRoleRead,
    },
    'acl token create': {
      summary: 'Makes a token',
      load: async () => (await import('./verbs/acl/token-create.ts')).aclTokenCreate,
    },
    'acl token delete': {
      summary: 'Revokes a token',
      load: async () => (await import('./verbs/acl/delete.ts')).aclTokenDelete,
    },
    'acl token list': {
      summary: 'Lists tokens',
      load: async () => (await import('./verbs/acl/list.ts')).aclTokenList,
    },
    'acl token read': {
      summary: 'Shows a token',
      load: async () => (await import('./verbs/acl/token-read.ts')).aclTokenRead,
    },
    'acl token self': {
      summary: 'Shows the token in use',
      load: async () => (await import('./verbs/acl/token-read.ts')).aclTokenSelf,
    },
    'acl token update': {
      summary: 'Changes a token',
      load: async () => (await import('./verbs/acl/token-update.ts')).aclTokenUpdate,
    },
    agent: {
      summary: 'Runs a server',
      load: async () => (await import('./verbs/agent.ts')).agentVerb(runAgent),
    },
    'agent-info': {
      summary: 'Shows the figures of one agent',
      load: async () => (await import('./verbs/agent-info.ts')).agentInfo,
    },
    ...allocVerbs,
    'auth disable': {
      summary: 'Unmounts a login method',
      load: async () => (await import('./verbs/auth/auth.ts')).authDisable,
    },
    'auth enable': {
      summary: 'Mounts a login method',
      load: async () => (await import('./verbs/auth/auth.ts')).authEnable,
    },
    'auth list': {
      summary: 'Lists the login methods',
      load: async () => (await import('./verbs/auth/auth.ts')).authList,
    },
    'auth tune': {
      summary: 'Shows or changes how a login method is mounted',
      load: async () => (await import('./verbs/auth/auth.ts')).authTune,
    },
    'catalog datacenters': {
      summary: 'Lists the datacenters',
      load: async () => (await import('./verbs/catalog/datacenters.ts')).catalogDatacenters,
    },
    'catalog nodes': {
      summary: 'Lists nodes',
      load: async () => (await import('./verbs/catalog/nodes.ts')).catalogNodes,
    },
    'catalog services': {
      summary: 'Lists services',
      load: async () => (await import('./verbs/catalog/services.ts')).catalogServices,
    },
    completion: {
      summary: 'Prints a completion script for a shell',
      load: async () => (await import('./verbs/completion.ts')).completion,
    },
    delete: {
      summary: 'Deletes what is at a path of the API',
      load: async () => (await import('./verbs/path/ask.ts')).pathDelete,
    },
    ...deploymentVerbs,
    'eval list': {
      summary: 'Lists evaluations',
      load: async () => (await import('./verbs/eval/list.ts')).evalList,
    },
    'eval status': {
      summary: 'Shows an evaluation and what it placed',
      load: async () => (await import('./verbs/eval/status.ts')).evalStatus,
    },
    'event stream': {
      summary: 'Follows what changes in the cluster',
      load: async () => (await import('./verbs/event/stream.ts')).eventStream,
    },
    'gossip keygen': {
      summary: 'Prints a new key for gossip',
      load: async () => (await import('./verbs/gossip/keygen.ts')).gossipKeygen,
    },
    ...jobVerbs,
    'kv delete': {
      summary: 'Deletes a key, or all below a prefix',
      load: async () => (await import('./verbs/kv/delete.ts')).kvDelete,
    },
    'kv get': {
      summary: 'Shows the value of a key',
      load: async () => (await import('./verbs/kv/get.ts')).kvGet,
    },
    'kv list': {
      summary: 'Lists keys',
      load: async () => (await import('./verbs/kv/list.ts')).kvList,
    },
    'kv put': {
      summary: 'Writes a key, or locks it and lets it go',
      load: async () => (await import('./verbs/kv/put.ts')).kvPut,
    },
    list: {
      summary: 'Lists the names below a path of the API',
      load: async () => (await import('./verbs/path/ask.ts')).pathList,
    },
    lock: {
      summary: 'Runs a command while holding a lock',
      load: async () => (await import('./verbs/lock.ts')).lock,
    },
    login: {
      summary: 'Logs in and stores the token',
      load: async () => (await import('./verbs/login/login.ts')).login,
    },
    'login explain': {
      summary: 'Shows what a login would come to, step by step',
      load: async () => (await import('./verbs/login/explain.ts')).loginExplain,
    },
    logout: {
      summary: 'Forgets the stored token',
      load: async () => (await import('./verbs/login/login.ts')).logout,
    },
    monitor: {
      summary: 'Follows the log of a server',
      load: async () => (await import('./verbs/monitor.ts')).monitor,
    },
    'namespace apply': {
      summary: 'Creates a namespace or changes it',
      load: async () => (await import('./verbs/namespace/apply.ts')).namespaceApply,
    },
    'namespace delete': {
      summary: 'Deletes an empty namespace',
      load: async () => (await import('./verbs/namespace/delete.ts')).namespaceDelete,
    },
    'namespace list': {
      summary: 'Lists the namespaces',
      load: async () => (await import('./verbs/namespace/list.ts')).namespaceList,
    },
    'namespace status': {
      summary: 'Shows a namespace',
      load: async () => (await import('./verbs/namespace/status.ts')).namespaceStatus,
    },
    ...nodeVerbs,
    'operator autopilot get-config': {
      summary: 'Shows how the leader looks after the servers',
      load: async () => (await import('./verbs/autopilot/get-config.ts')).autopilotGetConfig,
    },
    'operator autopilot health': {
      summary: 'Shows how the servers are, and how many may fail',
      load: async () => (await import('./verbs/autopilot/health.ts')).autopilotHealth,
    },
    'operator autopilot set-config': {
      summary: 'Changes how the leader looks after the servers',
      load: async () => (await import('./verbs/autopilot/set-config.ts')).autopilotSetConfig,
    },
    'operator gossip keyring generate': {
      summary: 'Prints a new key for gossip',
      load: async () => (await import('./verbs/gossip/keygen.ts')).gossipKeygen,
    },
    'operator gossip keyring install': {
      summary: 'Gives all members one more key',
      load: async () => (await import('./verbs/gossip/key-change.ts')).gossipKeyInstall,
    },
    'operator gossip keyring list': {
      summary: 'Shows how many members hold each key',
      load: async () => (await import('./verbs/gossip/list.ts')).gossipKeyList,
    },
    'operator gossip keyring remove': {
      summary: 'Takes a key from all members',
      load: async () => (await import('./verbs/gossip/key-change.ts')).gossipKeyRemove,
    },
    'operator gossip keyring use': {
      summary: 'Makes all members seal with a key they hold',
      load: async () => (await import('./verbs/gossip/key-change.ts')).gossipKeyUse,
    },
    'operator raft list-peers': {
      summary: 'Lists the servers of the consensus group',
      load: async () => (await import('./verbs/raft/list-peers.ts')).raftListPeers,
    },
    'operator raft recover': {
      summary: 'Goes on after a quorum is lost for good, on a stopped server',
      load: async () => (await import('./verbs/raft/recover.ts')).raftRecover(openRecovery),
    },
    'operator raft remove-peer': {
      summary: 'Takes a server out of the consensus group',
      load: async () => (await import('./verbs/raft/remove-peer.ts')).raftRemovePeer,
    },
    'operator raft transfer-leadership': {
      summary: 'Hands leadership to another server',
      load: async () =>
        (await import('./verbs/raft/transfer-leadership.ts')).raftTransferLeadership,
    },
    'operator root keyring list': {
      summary: 'Lists the keys that seal variables',
      load: async () => (await import('./verbs/keyring/list.ts')).keyringList,
    },
    'operator root keyring rotate': {
      summary: 'Makes a new key for variables',
      load: async () => (await import('./verbs/keyring/rotate.ts')).keyringRotate,
    },
    'operator scheduler brake release': {
      summary: 'Has the work of lost nodes placed elsewhere after a storm',
      load: async () => (await import('./verbs/brake/release.ts')).brakeRelease,
    },
    'operator scheduler brake set': {
      summary: 'Changes when the storm brake goes on, and how long it holds',
      load: async () => (await import('./verbs/brake/set.ts')).brakeSet,
    },
    'operator scheduler brake status': {
      summary: 'Shows whether the work of lost nodes is held back',
      load: async () => (await import('./verbs/brake/status.ts')).brakeStatus,
    },
    'operator scheduler get-config': {
      summary: 'Shows how the scheduler works',
      load: async () => (await import('./verbs/scheduler/get-config.ts')).schedulerGetConfig,
    },
    'operator scheduler set-config': {
      summary: 'Changes how the scheduler works',
      load: async () => (await import('./verbs/scheduler/set-config.ts')).schedulerSetConfig,
    },
    'operator snapshot inspect': {
      summary: 'Verifies a snapshot file and shows what it is of',
      load: async () => (await import('./verbs/snapshot/inspect.ts')).snapshotInspect,
    },
    'operator snapshot restore': {
      summary: 'Replaces the whole state by that of a file',
      load: async () => (await import('./verbs/snapshot/restore.ts')).snapshotRestore,
    },
    'operator snapshot save': {
      summary: 'Saves the whole state to a file',
      load: async () => (await import('./verbs/snapshot/save.ts')).snapshotSave,
    },
    read: {
      summary: 'Reads a path of the API',
      load: async () => (await import('./verbs/path/ask.ts')).pathRead,
    },
    ...scalingVerbs,
    'server force-leave': {
      summary: 'Gives a failed member up',
      load: async () => (await import('./verbs/server/force-leave.ts')).serverForceLeave,
    },
    'server join': {
      summary: 'Makes the agent join other members',
      load: async () => (await import('./verbs/server/join.ts')).serverJoin,
    },
    'server members': {
      summary: 'Lists the members of the gossip pool',
      load: async () => (await import('./verbs/server/members.ts')).serverMembers,
    },
    'services deregister': {
      summary: 'Takes services from an agent',
      load: async () => (await import('./verbs/services/deregister.ts')).servicesDeregister,
    },
    'services register': {
      summary: 'Registers services with an agent',
      load: async () => (await import('./verbs/services/register.ts')).servicesRegister,
    },
    'session destroy': {
      summary: 'Ends a session, and frees what it holds',
      load: async () => (await import('./verbs/session/destroy.ts')).sessionDestroy,
    },
    'session info': {
      summary: 'Shows a session',
      load: async () => (await import('./verbs/session/info.ts')).sessionInfo,
    },
    'session list': {
      summary: 'Lists sessions',
      load: async () => (await import('./verbs/session/list.ts')).sessionList,
    },
    status: {
      summary: 'Shows who leads and who is there',
      load: async () => (await import('./verbs/status.ts')).status,
    },
    'system gc': {
      summary: 'Forgets what is over',
      load: async () => (await import('./verbs/system/gc.ts')).systemGc,
    },
    'tls bootstrap': {
      summary: 'Makes all certificates of a cluster, or renews them',
      load: async () => (await import('./verbs/tls/bootstrap.ts')).tlsBootstrap,
    },
    'tls ca create': {
      summary: 'Makes a certificate authority for a cluster',
      load: async () => (await import('./verbs/tls/ca-create.ts')).tlsCaCreate,
    },
    'tls cert create': {
      summary: 'Makes a certificate signed by it',
      load: async () => (await import('./verbs/tls/cert-create.ts')).tlsCertCreate,
    },
    'token capabilities': {
      summary: 'Shows what a token may do at a path',
      load: async () => (await import('./verbs/token/token.ts')).tokenCapabilities,
    },
    'token create': {
      summary: 'Makes a token that ends with the one in use',
      load: async () => (await import('./verbs/token/token.ts')).tokenCreate,
    },
    'token lookup': {
      summary: 'Shows a token and its lease',
      load: async () => (await import('./verbs/token/token.ts')).tokenLookup,
    },
    'token renew': {
      summary: 'Gives a token more time',
      load: async () => (await import('./verbs/token/token.ts')).tokenRenew,
    },
    'token revoke': {
      summary: 'Ends a token and those made with it',
      load: async () => (await import('./verbs/token/token.ts')).tokenRevoke,
    },
    'var get': {
      summary: 'Shows a variable with its items',
      load: async () => (await import('./verbs/var/get.ts')).varGet,
    },
    'var list': {
      summary: 'Lists variables',
      load: async () => (await import('./verbs/var/list.ts')).varList,
    },
    'var purge': {
      summary: 'Deletes a variable',
      load: async () => (await import('./verbs/var/purge.ts')).varPurge,
    },
    'var put': {
      summary: 'Creates a variable or replaces its items',
      load: async () => (await import('./verbs/var/put.ts')).varPut,
    },
    version: {
      summary: 'Prints the version',
      load: async () => (await import('./verbs/version.ts')).versionVerb(version),
    },
    watch: {
      summary: 'Runs a command whenever something changes',
      load: async () => (await import('./verbs/watch.ts')).watch,
    },
    write: {
      summary: 'Writes to a path of the API',
      load: async () => (await import('./verbs/path/ask.ts')).pathWrite,
    },
  }
}
