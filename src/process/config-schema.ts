/** All keys of a configuration file. A leaf's description completes the sentence "must be …". */
import Type from 'typebox'
import { defaultRegion } from '../lib/default-region.ts'
import { logLevels } from '../lib/log.ts'
import { aclSchema } from './config-acl.ts'
import { httpSchema } from './config-http.ts'
import { auditSchema, limitsSchema } from './config-limits.ts'
import { listenersSchema, portsSchema } from './config-listeners.ts'
import { clientSchema } from './config-nodes.ts'
import { pluginSchema } from './config-plugins.ts'
import { serverSchema } from './config-server.ts'
import { definitionKeys, scriptCheckKeys } from './config-services.ts'
import { tlsSchema } from './config-tls.ts'
import { choice, closed, duration, emptyBlock, flag, host, name, path } from './config-values.ts'

const controllerSchema = Type.Object(
  {
    graceful_shutdown_wait_duration: duration(0, 24 * 60 * 60_000, '0s to 24h', {
      default: '0s',
      about: 'from a signal to the stop, at most `"24h"`',
    }),
  },
  emptyBlock,
)

const headerAliases = ['consul', 'nomad', 'vault'] as const
export type HeaderAlias = (typeof headerAliases)[number]

export const fileSchema = Type.Object(
  {
    name: Type.Optional(
      name('a name', {
        shown: 'the host name',
        about: 'unique in the region; letters, digits, `.`, `-`, `_`',
      }),
    ),
    region: name('a region', {
      default: defaultRegion,
      about: 'servers of one region are a cluster',
    }),
    datacenter: name('a datacenter', { default: 'dc1', about: 'where this machine is' }),
    data_dir: Type.Optional(
      path('the path of a folder', { shown: 'required', about: "the agent's own folder" }),
    ),
    bind_addr: host('an address', { default: '127.0.0.1', about: 'where it listens' }),
    advertise_addr: Type.Optional(
      host('an address', {
        shown: '`bind_addr`',
        about: 'where others reach it; required when `bind_addr` is a wildcard',
      }),
    ),
    allow_insecure_rpc: flag({
      default: false,
      about: 'RPC without TLS may listen beyond loopback: [TLS](tls.md#rpc-without-tls)',
    }),
    log_level: choice(logLevels, {
      default: 'info',
      about: logLevels.map((level) => `\`${level}\``).join(', '),
    }),
    log_json: flag({ default: false, about: 'one JSON object per line instead of text' }),
    enable_debug: Type.Optional(
      flag({
        shown: 'unset',
        about: 'whether profiles may be taken, see [the agent API](agent-api.md)',
      }),
    ),
    leave_on_terminate: flag({ default: false, about: 'a stop also leaves the cluster' }),
    ...scriptCheckKeys,
    ...definitionKeys,
    ports: portsSchema,
    tls: tlsSchema,
    listener: listenersSchema,
    controller: controllerSchema,
    client: clientSchema,
    plugin: pluginSchema,
    server: serverSchema,
    acl: aclSchema,
    audit: auditSchema,
    header_aliases: Type.Array(choice(headerAliases), {
      uniqueItems: true,
      description: `a list of ${headerAliases.join(', ')}, each once`,
      default: [...headerAliases],
      shown: headerAliases.map((alias) => `\`${alias}\``).join(', '),
      about:
        'whose header names are sent beside our own, below `/v1/auth` and `/v1/sys` those of `vault` alone (all are read)',
    }),
    http: httpSchema,
    limits: limitsSchema,
  },
  closed,
)

export type ConfigFile = Type.StaticDecode<typeof fileSchema>
