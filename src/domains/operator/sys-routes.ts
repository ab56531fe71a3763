/** What clients of Vault ask of a server before anything else: whether it is there, unsealed, and who leads. */
import { Type } from 'typebox'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { count, flag, jsonType, ok, text } from '../../api/shape.ts'
import { operatorMethods } from './methods.ts'
import { thisServer } from './services.ts'

const clusterName = 'muster'

const Health = Type.Object({
  initialized: flag('Always true'),
  sealed: flag('Always false: this program has nothing to unseal'),
  standby: flag('Whether no leader is known here; every other server answers all requests'),
  performance_standby: flag('Always false'),
  replication_performance_mode: text('Always `disabled`'),
  replication_dr_mode: text('Always `disabled`'),
  server_time_utc: count('Seconds since 1970'),
  version: Type.String(),
  cluster_name: Type.String(),
  cluster_id: text('Always empty'),
})

const SealStatus = Type.Object({
  type: Type.String(),
  initialized: flag('Always true'),
  sealed: flag('Always false'),
  t: count('Always 1'),
  n: count('Always 1'),
  progress: count('Always 0'),
  nonce: text('Always empty'),
  version: Type.String(),
  build_date: text('Always empty'),
  migration: flag('Always false'),
  cluster_name: Type.String(),
  cluster_id: text('Always empty'),
  recovery_seal: flag('Always false'),
  storage_type: Type.String(),
})

const Leader = Type.Object({
  ha_enabled: flag('Always true'),
  is_self: flag('Whether this server leads'),
  leader_address: text(
    'host:port that the leader takes other servers at; empty while there is none',
  ),
  leader_cluster_address: text('The same'),
  performance_standby: flag('Always false'),
  performance_standby_last_remote_wal: count('Always 0'),
})

export const sysRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/sys/health',
    summary: 'Health, as clients of Vault ask for it',
    permission: 'none',
    public: true,
    reply: { 200: { [jsonType]: Health }, 503: { [jsonType]: Health } },
    example: {},
    handle: async (request) => {
      const { leaderId } = await request.call(operatorMethods.status, {})
      const json = {
        initialized: true,
        sealed: false,
        standby: leaderId === null,
        performance_standby: false,
        replication_performance_mode: 'disabled',
        replication_dr_mode: 'disabled',
        server_time_utc: Math.floor(request.clock.wallMs() / 1_000),
        version: versionOf(request),
        cluster_name: clusterName,
        cluster_id: '',
      }
      return { status: leaderId === null ? 503 : 200, json }
    },
  },
  {
    method: 'GET',
    path: '/v1/sys/seal-status',
    summary: 'Whether the server is sealed: it never is',
    permission: 'none',
    reply: ok(SealStatus),
    example: {},
    handle: (request) => ({
      json: {
        type: 'shamir',
        initialized: true,
        sealed: false,
        t: 1,
        n: 1,
        progress: 0,
        nonce: '',
        version: versionOf(request),
        build_date: '',
        migration: false,
        cluster_name: clusterName,
        cluster_id: '',
        recovery_seal: false,
        storage_type: 'raft',
      },
    }),
  },
  {
    method: 'GET',
    path: '/v1/sys/init',
    summary: 'Whether the cluster was set up: it was',
    permission: 'none',
    reply: ok(Type.Object({ initialized: Type.Boolean() })),
    example: {},
    handle: () => ({ json: { initialized: true } }),
  },
  {
    method: 'GET',
    path: '/v1/sys/leader',
    summary: 'The leader, as clients of Vault ask for it',
    permission: 'none',
    reply: ok(Leader),
    example: {},
    handle: async (request) => {
      const { leaderId, members } = await request.call(operatorMethods.status, {})
      const address = members.find(({ id }) => id === leaderId)?.address ?? ''
      const json = {
        ha_enabled: true,
        is_self: request.service(thisServer).leads(),
        leader_address: address,
        leader_cluster_address: address,
        performance_standby: false,
        performance_standby_last_remote_wal: 0,
      }
      return { json }
    },
  },
]

function versionOf(request: ApiRequest): string {
  return request.service(thisServer).version()
}
