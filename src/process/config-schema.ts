/**
 * The keys of a configuration file. A leaf's description completes the sentence "must be …";
 * `docs/operators.md` holds the same list for people.
 */
import Type from 'typebox'
import { logLevels } from '../lib/log.ts'
import { pluginSchema } from './config-plugins.ts'
import { checksSchema, servicesSchema } from './config-services.ts'
import {
  closed,
  name,
  path,
  host,
  port,
  duration,
  size,
  count,
  boolean,
  parseAddress,
  parsePeer,
} from './config-values.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30

const raftSchema = Type.Object(
  {
    election_timeout: Type.Optional(duration(50, 60_000, '50ms to 1m, or "auto"', 'auto')),
    heartbeat_interval: Type.Optional(duration(10, 20_000, '10ms to 20s')),
    lease_reads: Type.Optional(boolean),
    append_bytes_max: Type.Optional(size(64 * 1024, 16 * MiB, '64KiB to 16MiB')),
    inflight_messages_max: Type.Optional(count(1, 4096)),
    inflight_bytes_max: Type.Optional(size(MiB, GiB, '1MiB to 1GiB')),
    uncommitted_bytes_max: Type.Optional(size(MiB, GiB, '1MiB to 1GiB')),
    cache_bytes_max: Type.Optional(size(MiB, GiB, '1MiB to 1GiB')),
    compact_bytes: Type.Optional(size(MiB, 64 * GiB, '1MiB to 64GiB')),
  },
  closed,
)

export const PEERS_MAX = 15
export const RETRY_JOIN_MAX = 32

/** The kinds of work that scheduler workers take; the core kind is always among them. */
const schedulers = ['service', 'batch', 'system', 'sysbatch', '_core'] as const

/** Checked in `config-gossip.ts`, whose refusals do not show it. */
const gossipKey = Type.Optional(Type.String({ description: 'a gossip key in base64' }))

const retryJoin = Type.Optional(
  Type.Array(
    Type.Refine(
      Type.String({ description: 'a gossip address host or host:port' }),
      (text) => parseAddress(text) !== undefined,
    ),
    {
      maxItems: RETRY_JOIN_MAX,
      description: `a list of at most ${RETRY_JOIN_MAX} gossip addresses`,
    },
  ),
)

const nodeText = Type.String({ maxLength: 256, description: 'a text of at most 256 characters' })

/** Of what a client agent tells of its machine: `config-nodes.ts`. */
const clientSchema = Type.Object(
  {
    enabled: Type.Optional(boolean),
    encrypt: gossipKey,
    retry_join: retryJoin,
    node_class: Type.Optional(nodeText),
    cpu_total_compute: Type.Optional(count(1, 100_000_000)),
    meta: Type.Optional(
      Type.Record(Type.String(), nodeText, { description: 'an object whose values are texts' }),
    ),
    host_volume: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          { path: path('the absolute path of a folder'), read_only: Type.Optional(boolean) },
          closed,
        ),
        { description: 'blocks with a name, each with a path' },
      ),
    ),
    reserved: Type.Optional(
      Type.Object(
        {
          cpu: Type.Optional(count(0, 10_000_000)),
          memory: Type.Optional(count(0, 1_000_000_000)),
          disk: Type.Optional(count(0, 1_000_000_000)),
          reserved_ports: Type.Optional(nodeText),
        },
        closed,
      ),
    ),
    gc_max_allocs: Type.Optional(count(0, 10_000)),
    stop_tasks_on_shutdown: Type.Optional(boolean),
    drain_on_shutdown: Type.Optional(
      Type.Object(
        {
          deadline: Type.Optional(duration(1_000, 86_400_000, '1s to 24h')),
          force: Type.Optional(boolean),
          ignore_system_jobs: Type.Optional(boolean),
        },
        closed,
      ),
    ),
    max_kill_timeout: Type.Optional(duration(1_000, 86_400_000, '1s to 24h')),
  },
  closed,
)

const serverSchema = Type.Object(
  {
    enabled: Type.Optional(boolean),
    bootstrap_expect: Type.Optional(
      Type.Integer({
        enum: [0, 1, 3, 5, 7, 9],
        description: '1, 3, 5, 7 or 9, or 0 for a server that only joins',
      }),
    ),
    encrypt: gossipKey,
    retry_join: retryJoin,
    peers: Type.Optional(
      Type.Array(
        Type.Refine(
          Type.String({ description: 'name=host:rpcport, as in "s1=10.0.0.1:4647"' }),
          (text) => parsePeer(text) !== undefined,
        ),
        { maxItems: PEERS_MAX, description: `a list of at most ${PEERS_MAX} name=host:rpcport` },
      ),
    ),
    keyring_key_file: Type.Optional(path('the path of a file')),
    num_schedulers: Type.Optional(count(0, 1024)),
    enabled_schedulers: Type.Optional(
      Type.Array(Type.Enum([...schedulers], { description: `one of ${schedulers.join(', ')}` }), {
        uniqueItems: true,
        description: `a list of ${schedulers.join(', ')}, each once`,
      }),
    ),
    snapshot_schedule: Type.Optional(duration(60_000, 31 * 86_400_000, '1m to 744h')),
    snapshot_retain: Type.Optional(count(1, 10_000)),
    snapshot_folder: Type.Optional(path('the path of a folder')),
    min_heartbeat_ttl: Type.Optional(duration(1_000, 3_600_000, '1s to 1h')),
    max_heartbeats_per_second: Type.Optional(count(1, 100_000)),
    heartbeat_grace: Type.Optional(duration(1_000, 3_600_000, '1s to 1h')),
    failover_heartbeat_ttl: Type.Optional(duration(1_000, 3_600_000, '1s to 1h')),
    raft: Type.Optional(raftSchema),
  },
  closed,
)

export const listenerPurposes = ['api', 'ops'] as const
export type ListenerPurpose = (typeof listenerPurposes)[number]

/** Whose shapes an API listener has where products differ; the first is the default. */
export const listenerDialects = ['nomad', 'consul'] as const
export type ListenerDialect = (typeof listenerDialects)[number]

export const LISTENERS_MAX = 16

/** `purpose` has no default, which is checked later: a schema cannot name the line of what is missing. */
const listenerSchema = Type.Object(
  {
    purpose: Type.Optional(
      Type.Enum([...listenerPurposes], {
        description: `one of ${listenerPurposes.join(', ')}`,
      }),
    ),
    address: Type.Optional(
      Type.Refine(
        Type.String({ description: 'host:port, as in "10.0.0.1:9203" or "[::1]:9203"' }),
        (text) => parseAddress(text) !== undefined,
      ),
    ),
    dialect: Type.Optional(
      Type.Enum([...listenerDialects], { description: `one of ${listenerDialects.join(', ')}` }),
    ),
    tls_disable: Type.Optional(boolean),
    tls_cert_file: Type.Optional(path('the path of a PEM file')),
    tls_key_file: Type.Optional(path('the path of a PEM file')),
  },
  closed,
)

/** The library's names. */
export const tlsVersions = { tls12: 'TLSv1.2', tls13: 'TLSv1.3' } as const
export type TlsVersion = (typeof tlsVersions)[keyof typeof tlsVersions]

const tlsSchema = Type.Object(
  {
    folder: Type.Optional(path('the path of a folder')),
    auto: Type.Optional(boolean),
    http: Type.Optional(boolean),
    rpc: Type.Optional(boolean),
    ca_file: Type.Optional(path('the path of a PEM file')),
    cert_file: Type.Optional(path('the path of a PEM file')),
    key_file: Type.Optional(path('the path of a PEM file')),
    verify_server_hostname: Type.Optional(boolean),
    rpc_upgrade_mode: Type.Optional(boolean),
    tls_min_version: Type.Optional(
      Type.Enum(['tls12', 'tls13'], { description: 'one of tls12, tls13' }),
    ),
  },
  closed,
)

export const aclDefaults = ['allow', 'deny'] as const

const downPolicies = ['deny', 'extend-cache'] as const

const aclSchema = Type.Object(
  {
    enabled: Type.Optional(boolean),
    default_policy: Type.Optional(
      Type.Enum([...aclDefaults], { description: `one of ${aclDefaults.join(', ')}` }),
    ),
    down_policy: Type.Optional(
      Type.Enum([...downPolicies], { description: `one of ${downPolicies.join(', ')}` }),
    ),
    /** Checked later, by a refusal that does not show it. */
    bootstrap_token: Type.Optional(Type.String({ description: 'a random secret' })),
    agent_token: Type.Optional(Type.String({ description: 'the secret of a token' })),
  },
  closed,
)

const auditSchema = Type.Object(
  {
    enabled: Type.Optional(boolean),
    path: Type.Optional(path('the path of a file')),
    rotate_bytes: Type.Optional(size(64 * 1024, 64 * GiB, '64KiB to 64GiB')),
    rotate_max_files: Type.Optional(count(1, 1_000)),
    required: Type.Optional(boolean),
  },
  closed,
)

const controllerSchema = Type.Object(
  {
    graceful_shutdown_wait_duration: Type.Optional(duration(0, 24 * 60 * 60_000, '0s to 24h')),
  },
  closed,
)

const HTTP_NAMES_MAX = 64

/** Each entry is checked in `config-http.ts`. */
function namesOf(what: string) {
  return Type.Optional(
    Type.Array(Type.String({ description: `one of ${what}` }), {
      maxItems: HTTP_NAMES_MAX,
      description: `a list of at most ${HTTP_NAMES_MAX} ${what}`,
    }),
  )
}

const httpSchema = Type.Object(
  {
    allowed_hosts: namesOf('host names'),
    cors: Type.Optional(Type.Object({ allowed_origins: namesOf('origins') }, closed)),
  },
  closed,
)

export const headerAliases = ['consul', 'nomad', 'vault'] as const
export type HeaderAlias = (typeof headerAliases)[number]

export const fileSchema = Type.Object(
  {
    name: Type.Optional(name('a name')),
    region: Type.Optional(name('a region')),
    datacenter: Type.Optional(name('a datacenter')),
    data_dir: Type.Optional(path('the path of a folder')),
    bind_addr: Type.Optional(host('an address')),
    advertise_addr: Type.Optional(host('an address')),
    allow_insecure_rpc: Type.Optional(boolean),
    log_level: Type.Optional(
      Type.Enum([...logLevels], { description: `one of ${logLevels.join(', ')}` }),
    ),
    log_json: Type.Optional(boolean),
    enable_debug: Type.Optional(boolean),
    leave_on_terminate: Type.Optional(boolean),
    enable_script_checks: Type.Optional(boolean),
    enable_local_script_checks: Type.Optional(boolean),
    ports: Type.Optional(
      Type.Object(
        {
          http: Type.Optional(port),
          rpc: Type.Optional(port),
          gossip: Type.Optional(port),
          ops: Type.Optional(port),
        },
        closed,
      ),
    ),
    listener: Type.Optional(
      Type.Array(listenerSchema, {
        maxItems: LISTENERS_MAX,
        description: `at most ${LISTENERS_MAX} listeners`,
      }),
    ),
    tls: Type.Optional(tlsSchema),
    http: Type.Optional(httpSchema),
    controller: Type.Optional(controllerSchema),
    acl: Type.Optional(aclSchema),
    audit: Type.Optional(auditSchema),
    server: Type.Optional(serverSchema),
    client: Type.Optional(clientSchema),
    plugin: pluginSchema,
    header_aliases: Type.Optional(
      Type.Array(
        Type.Enum([...headerAliases], { description: `one of ${headerAliases.join(', ')}` }),
        { uniqueItems: true, description: `a list of ${headerAliases.join(', ')}, each once` },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          http_body_bytes_max: Type.Optional(size(64 * 1024, 64 * MiB, '64KiB to 64MiB')),
          http_bodies_bytes_max: Type.Optional(size(MiB, 64 * GiB, '1MiB to 64GiB')),
          http_connections_max: Type.Optional(count(16, 1_000_000)),
          http_connections_per_client_max: Type.Optional(count(1, 1_000_000)),
          http_max_conns_per_client: Type.Optional(count(1, 1_000_000)),
          http_rate_per_client: Type.Optional(count(0, 1_000_000)),
          http_burst_per_client: Type.Optional(count(1, 1_000_000)),
          http_concurrency_per_client: Type.Optional(count(0, 1_000_000)),
          http_answer_bytes_max: Type.Optional(size(1 * MiB, 4096 * MiB, '1MiB to 4GiB')),
          blocking_queries_max: Type.Optional(count(1, 1_000_000)),
          event_streams_max: Type.Optional(count(1, 4_096)),
          events_kept_max: Type.Optional(count(16, 10_000_000)),
          event_bytes_kept_max: Type.Optional(size(64 * 1024, 1024 * MiB, '64KiB to 1GiB')),
        },
        closed,
      ),
    ),
    service: servicesSchema,
    services: servicesSchema,
    check: checksSchema,
    checks: checksSchema,
  },
  closed,
)

export type ConfigFile = Type.Static<typeof fileSchema>
