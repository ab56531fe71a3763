/**
 * Areas of the Consul, Nomad and Vault APIs that this program does not serve. A request there gets 501 and one sentence,
 * so that a tool shows its user a reason and not an empty 404. Routes come first: a path that a route serves never gets here.
 */
import { MusterError } from '../lib/errors.ts'

type Area = {
  /** The path itself, and everything below it. */
  readonly paths: readonly string[]
  /** One sentence: what is not served, and what to use instead where there is something. */
  readonly reason: string
  /** Clients of this area parse `{"errors":[…]}`. */
  readonly isVault?: boolean
}

export type OutOfScope = { readonly reason: string; readonly isVault: boolean }

/** No path stands twice; of two that fit, the one with more segments decides. */
export const outOfScopeAreas: readonly Area[] = [
  // Consul
  {
    paths: ['/v1/query'],
    reason:
      'prepared queries are not served; ask /v1/health/service/:service?passing with a filter instead',
  },
  {
    paths: ['/v1/connect', '/v1/agent/connect', '/v1/catalog/connect', '/v1/health/connect'],
    reason: 'the service mesh is not served: this program issues no certificates to services',
  },
  {
    paths: ['/v1/health/ingress', '/v1/catalog/gateway-services', '/v1/exported-services'],
    reason: 'gateways and exported services are not served: this program has no service mesh',
  },
  {
    paths: ['/v1/config', '/v1/discovery-chain'],
    reason: 'configuration entries are not served: this program has no service mesh',
  },
  {
    paths: ['/v1/intentions'],
    reason: 'intentions are not served: this program has no service mesh',
  },
  {
    paths: ['/v1/peering', '/v1/peerings', '/v1/imported-services'],
    reason: 'cluster peering is not served: each cluster stands for itself',
  },
  {
    paths: ['/v1/partition', '/v1/partitions'],
    reason: 'admin partitions are not served; use namespaces',
  },
  {
    paths: ['/v1/internal'],
    reason:
      "Consul's internal paths are not served: they are private to its agents and its web interface",
  },
  {
    paths: ['/v1/agent/leave'],
    reason:
      'no agent leaves by the API; stop its process, with `leave_on_terminate` if it is to leave for good',
  },
  {
    paths: ['/v1/agent/token'],
    reason:
      "an agent's own token is not set by the API; set `acl.agent_token` in its configuration",
  },
  {
    paths: ['/v1/agent/metrics/stream'],
    reason: 'metrics are not sent as a stream; ask /v1/agent/metrics again for the next interval',
  },
  {
    paths: ['/v1/coordinate/update'],
    reason: 'coordinates are not written by the API: gossip measures them',
  },
  {
    paths: ['/v1/operator/autopilot/state'],
    reason: "this form of autopilot's state is not served; ask /v1/operator/autopilot/health",
  },
  {
    paths: ['/api'],
    reason:
      "resources of Consul's second catalog are not served; nodes and services are at /v1/catalog",
  },
  {
    paths: ['/v1/operator/area'],
    reason: 'network areas are not served: each cluster stands for itself',
  },
  {
    paths: ['/v1/operator/license', '/v1/operator/utilization', '/v1/operator/usage'],
    reason: 'licences and usage reports are not served: this program needs no licence',
  },
  {
    paths: ['/v1/operator/segment'],
    reason: 'network segments are not served: all agents are in one gossip pool',
  },
  {
    paths: ['/debug'],
    reason:
      'profiles by these paths are not served; they are at /v1/agent/pprof, with enable_debug',
  },
  {
    paths: ['/ui'],
    reason: 'a web interface is not served; `muster` on the command line shows the same',
  },
  {
    paths: ['/v1/operator/audit'],
    reason: "the audit log is not steered by the API; set `audit` in the agent's configuration",
  },
  {
    paths: ['/v1/acl/auth-method', '/v1/acl/auth-methods'],
    reason: 'auth methods are not served; give clients tokens by /v1/acl/token',
  },
  {
    paths: [
      '/v1/acl/binding-rule',
      '/v1/acl/binding-rules',
      '/v1/acl/login',
      '/v1/acl/logout',
      '/v1/acl/oidc',
      '/v1/acl/identity',
    ],
    reason: 'login by auth methods is not served; give clients tokens by /v1/acl/token',
  },
  {
    paths: ['/v1/acl/token/onetime'],
    reason: 'one-time tokens are not served; give clients tokens by /v1/acl/token',
  },
  {
    paths: ['/v1/acl/replication'],
    reason: 'access control is not replicated between datacenters: each cluster has its own',
  },
  {
    paths: [
      '/v1/acl/create',
      '/v1/acl/update',
      '/v1/acl/destroy',
      '/v1/acl/info',
      '/v1/acl/clone',
      '/v1/acl/list',
      '/v1/acl/rules',
    ],
    reason: 'the access control of Consul before its version 1.4 is not served; use /v1/acl/token',
  },
  {
    paths: ['/v1/acl/templated-policy', '/v1/acl/templated-policies'],
    reason: 'templated policies are not served; write policies by /v1/acl/policy/:name',
  },
  // Nomad
  {
    paths: [
      '/v1/jobs',
      '/v1/job',
      '/v1/allocations',
      '/v1/allocation',
      '/v1/evaluations',
      '/v1/evaluation',
      '/v1/deployment',
      '/v1/scaling',
      '/v1/validate',
    ],
    reason: 'this is not served: docs/jobs.md lists the requests about workloads that are',
  },
  {
    paths: ['/v1/client', '/v1/system', '/v1/operator/scheduler'],
    reason: 'this is not served: docs/jobs.md lists the requests about workloads that are',
  },
  {
    paths: ['/v1/volumes', '/v1/volume', '/v1/plugins', '/v1/plugin'],
    reason:
      'volumes and plugins are not served: tasks use host volumes, which agents are configured with',
  },
  {
    paths: ['/v1/node/pools', '/v1/node/pool'],
    reason: 'node pools are not served: constrain jobs to classes of nodes',
  },
  {
    paths: ['/v1/services', '/v1/service'],
    reason: "Nomad's own services are not served; /v1/catalog/services lists all services",
  },
  {
    paths: ['/v1/search'],
    reason: 'search over all kinds of objects is not served; list each kind by its own path',
  },
  {
    paths: ['/v1/quotas', '/v1/quota', '/v1/quota-usages', '/v1/recommendations'],
    reason: 'quotas and recommendations are not served',
  },
  {
    paths: ['/v1/sentinel'],
    reason: 'Sentinel policies are not served; write policies by /v1/acl/policy/:name',
  },
  {
    paths: ['/.well-known'],
    reason: 'workload identities are not served: tasks get no tokens',
  },
  {
    paths: ['/v1/agent/monitor/export'],
    reason:
      "the system's journal is not sent by the API; the log as it comes is at /v1/agent/monitor",
  },
  {
    paths: ['/v1/operator/keyring/key'],
    reason: 'no key is removed by the API: the leader removes what seals nothing any more',
  },
  {
    paths: ['/v1/operator/root-keyring', '/v1/operator/upgrade-check'],
    reason:
      'this path is not served; /v1/operator/keyring/keys and /v1/operator/keyring/rotate steer the keys',
  },
  // Vault
  {
    paths: [
      '/v1/sys/seal',
      '/v1/sys/unseal',
      '/v1/sys/rekey',
      '/v1/sys/rekey-recovery-key',
      '/v1/sys/generate-root',
      '/v1/sys/generate-recovery-token',
      '/v1/sys/sealwrap',
      '/v1/sys/seal-backend-status',
      '/v1/sys/decode-token',
    ],
    reason: "Vault's seal and its keys are not served: this program is never sealed",
    isVault: true,
  },
  {
    paths: ['/v1/sys/rotate', '/v1/sys/key-status'],
    reason:
      "the keys of Vault's barrier are not served; /v1/operator/keyring/keys and /v1/operator/keyring/rotate steer the keys",
    isVault: true,
  },
  {
    paths: ['/v1/sys/mounts', '/v1/sys/raw', '/v1/sys/cubbyhole'],
    reason:
      "Vault's secrets engines are not served; login methods are enabled and tuned at /v1/sys/auth",
    isVault: true,
  },
  {
    paths: ['/v1/sys/remount'],
    reason: 'mounts are not moved; disable the login method and enable it at the other path',
    isVault: true,
  },
  {
    paths: ['/v1/sys/plugins'],
    reason: "Vault's plugins are not served: all login methods are part of this program",
    isVault: true,
  },
  {
    paths: [
      '/v1/sys/leases',
      '/v1/sys/renew',
      '/v1/sys/revoke',
      '/v1/sys/revoke-force',
      '/v1/sys/revoke-prefix',
    ],
    reason: 'leases of secrets are not served; tokens are renewed and revoked at /v1/auth/token',
    isVault: true,
  },
  {
    paths: ['/v1/sys/wrapping', '/v1/sys/tools'],
    reason: 'response wrapping, random bytes and hashes are not served',
    isVault: true,
  },
  {
    paths: ['/v1/sys/audit', '/v1/sys/audit-hash'],
    reason:
      "the audit log is not steered by the API, and audit devices are not served; set `audit` in the agent's configuration",
    isVault: true,
  },
  {
    paths: ['/v1/sys/config', '/v1/sys/loggers'],
    reason: "settings of a server are not served by the API; they are in the agent's configuration",
    isVault: true,
  },
  {
    paths: ['/v1/sys/storage', '/v1/sys/ha-status', '/v1/sys/step-down'],
    reason:
      "Vault's view of Raft is not served; ask /v1/operator/raft/configuration, /v1/operator/autopilot/health and /v1/snapshot",
    isVault: true,
  },
  {
    paths: [
      '/v1/sys/metrics',
      '/v1/sys/monitor',
      '/v1/sys/pprof',
      '/v1/sys/host-info',
      '/v1/sys/in-flight-req',
    ],
    reason: 'this is not served below /v1/sys; metrics, monitor, pprof and host are at /v1/agent',
    isVault: true,
  },
  {
    paths: [
      '/v1/sys/internal',
      '/v1/sys/version-history',
      '/v1/sys/experiments',
      '/v1/sys/activation-flags',
    ],
    reason:
      "this path is private to Vault's own clients or tells of its versions, and is not served",
    isVault: true,
  },
  {
    paths: ['/v1/sys/events'],
    reason: "Vault's events are not served; changes come as a stream at /v1/event/stream",
    isVault: true,
  },
  {
    paths: ['/v1/sys/namespaces'],
    reason: "Vault's namespaces are not served; those of variables and jobs are at /v1/namespaces",
    isVault: true,
  },
  {
    paths: ['/v1/sys/policies/rgp', '/v1/sys/policies/egp', '/v1/sys/policies/password'],
    reason:
      'policies of these kinds are not served; access control policies are at /v1/sys/policies/acl',
    isVault: true,
  },
  {
    paths: [
      '/v1/sys/replication',
      '/v1/sys/license',
      '/v1/sys/quotas',
      '/v1/sys/control-group',
      '/v1/sys/mfa',
      '/v1/sys/managed-keys',
      '/v1/sys/sync',
      '/v1/sys/reporting',
      '/v1/sys/utilization-report',
    ],
    reason:
      "replication, licences, quotas, control groups and other paths of Vault's licensed editions are not served",
    isVault: true,
  },
  {
    paths: ['/v1/secret', '/v1/cubbyhole'],
    reason: "Vault's secrets engines are not served; encrypted variables are at /v1/var/:path",
    isVault: true,
  },
  {
    paths: ['/v1/identity'],
    // As the errors of the paths that are served below it.
    reason: "of Vault's identities only entity/id is served; tokens and roles are at /v1/acl",
  },
  {
    paths: [
      '/v1/ad',
      '/v1/aws',
      '/v1/azure',
      '/v1/consul',
      '/v1/database',
      '/v1/gcp',
      '/v1/gcpkms',
      '/v1/keymgmt',
      '/v1/kmip',
      '/v1/kubernetes',
      '/v1/ldap',
      '/v1/mongodbatlas',
      '/v1/nomad',
      '/v1/pki',
      '/v1/rabbitmq',
      '/v1/ssh',
      '/v1/terraform',
      '/v1/totp',
      '/v1/transform',
      '/v1/transit',
    ],
    reason: "Vault's secrets engines are not served: this program makes no dynamic secrets",
    isVault: true,
  },
]

const byPath: ReadonlyMap<string, OutOfScope> = new Map(
  outOfScopeAreas.flatMap(({ paths, reason, isVault = false }) =>
    paths.map((path) => [path, { reason, isVault }] as const),
  ),
)

/** No row is longer: `/v1/operator/autopilot/state` has five, the empty one before the first slash included. */
const segmentsMax = 5

/** Where a route's parameter would take a part of such a path for a name. */
export function refuseOutOfScope(path: string): void {
  const area = outOfScope(path)
  if (area !== null) throw new MusterError('not_implemented', area.reason)
}

/** Of a decoded path; null: it lies in no such area. The narrowest area decides. */
export function outOfScope(path: string): OutOfScope | null {
  const segments = path.split('/', segmentsMax + 1).slice(0, segmentsMax)
  for (let length = segments.length; length > 1; length -= 1) {
    const area = byPath.get(segments.slice(0, length).join('/'))
    if (area !== undefined) return area
  }
  return null
}
