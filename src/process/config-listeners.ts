/**
 * Where a server listens for people and machines that are not servers: what `listener` blocks say, and what `ports` says
 * where there is no block for a purpose. The RPC and gossip ports are not named by blocks.
 */
import { resolve } from 'node:path'
import Type from 'typebox'
import { dialectDefault, dialects, type Dialect } from '../lib/dialects.ts'
import { isWildcard } from '../lib/host-port.ts'
import type { Complain } from './config-check.ts'
import type { TlsVersion } from './config-tls.ts'
import {
  choice,
  closed,
  emptyBlock,
  flag,
  parseAddress,
  path,
  port,
  text,
} from './config-values.ts'

const purposes = ['api', 'ops'] as const
type ListenerPurpose = (typeof purposes)[number]

const listenersMax = 16

/** `purpose` has no default, which is checked later: a schema cannot name the line of what is missing. */
const listenerSchema = Type.Object(
  {
    purpose: Type.Optional(
      choice(purposes, {
        shown: 'required',
        about: '`"api"`, everything under `/v1`; or `"ops"`, `/health` and `/metrics`',
      }),
    ),
    address: Type.Optional(
      Type.Refine(
        text('host:port, as in "10.0.0.1:9203" or "[::1]:9203"', {
          shown: '`bind_addr`, port 4646 or 9203',
          about: '`host:port`; an IPv6 host with a port in brackets; port 0 takes any free one',
        }),
        (address) => parseAddress(address) !== undefined,
      ),
    ),
    dialect: Type.Optional(
      choice(dialects, {
        shown: '`"nomad"`',
        about: 'of the API: [Dialects](dialects.md)',
      }),
    ),
    tls_disable: Type.Optional(
      flag({
        shown:
          '`false` if a file is named, else `true`; of the API `false` with [`tls.folder`](tls.md) too',
        about: 'plain HTTP, also when files are named',
      }),
    ),
    tls_cert_file: Type.Optional(
      path('the path of a PEM file', {
        about: "PEM: the server's certificate, then those that signed it",
      }),
    ),
    tls_key_file: Type.Optional(
      path('the path of a PEM file', { about: 'PEM without a password' }),
    ),
  },
  closed,
)

export const listenersSchema = Type.Array(listenerSchema, {
  maxItems: listenersMax,
  description: `at most ${listenersMax} listeners`,
  default: [],
  shown: 'none',
  about: 'blocks: [Listeners, health and metrics](health-and-metrics.md)',
})

export type ListenerConfig = {
  readonly purpose: ListenerPurpose
  /** Of the API. */
  readonly dialect: Dialect
  /** Without brackets, also for IPv6. */
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Absolute paths of PEM files; null: plain HTTP. */
  readonly tls: (TlsFiles & { readonly block: 'listener' | 'tls' }) | null
}

type TlsFiles = {
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: TlsVersion
}

type ListenerFile = Type.StaticDecode<typeof listenerSchema>

type Ports = {
  readonly http: number
  readonly rpc: number
  readonly gossip: number
  readonly ops: number
}

/** `consul`: of listeners of that dialect. */
export type DefaultPorts = Ports & { readonly consul: number }

/** What a `ports` block without a key, and an address without a port, mean. */
export const defaultPorts: DefaultPorts = {
  http: 4646,
  rpc: 4647,
  gossip: 4648,
  ops: 9203,
  consul: 8500,
}

export const portsSchema = Type.Object(
  {
    http: Type.Optional(
      port({ shown: `\`${defaultPorts.http}\``, about: '0 takes any free port, also below' }),
    ),
    rpc: Type.Optional(
      port({
        shown: `\`${defaultPorts.rpc}\``,
        about: 'between servers; fixed when there are peers',
      }),
    ),
    gossip: Type.Optional(
      port({ shown: `\`${defaultPorts.gossip}\``, about: 'UDP and TCP, between servers' }),
    ),
    ops: Type.Optional(
      port({ shown: `\`${defaultPorts.ops}\``, about: '`/health` and `/metrics`' }),
    ),
  },
  emptyBlock,
)

/**
 * A purpose that a block names is served by its blocks alone; else `ports` holds for it. A listener of another dialect is one
 * more: the API of the default dialect stays where it is.
 */
export function completeListeners(
  blocks: readonly ListenerFile[],
  agent: {
    readonly bindAddr: string
    readonly ports: Ports
    readonly defaults: DefaultPorts
    /** Of the `tls` block, for the API at its port; null: plain. */
    readonly apiTls: TlsFiles | null
    /** These are also for listeners of the API that say nothing of TLS. */
    readonly tlsByFolder: boolean
  },
  complain: Complain,
): readonly ListenerConfig[] {
  const { bindAddr, ports, defaults, apiTls, tlsByFolder } = agent
  const files = apiTls === null ? null : ({ ...apiTls, block: 'tls' } as const)
  const shared = tlsByFolder ? files : null
  const given = blocks.map((block, at) =>
    listenerOf(block, { key: `listener.${at}`, bindAddr, defaults, shared }, complain),
  )
  const has = (purpose: ListenerPurpose) =>
    given.some((one) => one.purpose === purpose && one.dialect === dialectDefault)
  const byPort = (purpose: ListenerPurpose, port: number, tls: ListenerConfig['tls']) =>
    has(purpose) ? [] : [{ purpose, dialect: dialectDefault, host: bindAddr, port, tls }]
  if (apiTls !== null && !tlsByFolder && has('api')) {
    complain('tls.http', 'listener blocks with purpose "api" name their own files; set it to false')
  }
  const onPort = (key: string, port: number) => ({ key, host: bindAddr, port })
  refuseSharedPorts(
    [
      ...(has('api') ? [] : [onPort('ports.http', ports.http)]),
      onPort('ports.rpc', ports.rpc),
      onPort('ports.gossip', ports.gossip),
      ...(has('ops') ? [] : [onPort('ports.ops', ports.ops)]),
      ...given.map(({ host, port }, at) => ({ key: `listener.${at}.address`, host, port })),
    ],
    complain,
  )
  return [...byPort('api', ports.http, files), ...byPort('ops', ports.ops, null), ...given]
}

function listenerOf(
  block: ListenerFile,
  {
    key,
    bindAddr,
    defaults,
    shared,
  }: {
    readonly key: string
    readonly bindAddr: string
    readonly defaults: DefaultPorts
    readonly shared: ListenerConfig['tls']
  },
  complain: Complain,
): ListenerConfig {
  if (block.purpose === undefined) {
    complain(`${key}.purpose`, 'missing; say "api" for clients, or "ops" for health and metrics')
  }
  const purpose = block.purpose ?? 'api'
  if (block.dialect !== undefined && purpose !== 'api') {
    complain(`${key}.dialect`, `only listeners with purpose "api" have one; leave it out`)
  }
  const dialect = block.dialect ?? dialectDefault
  const address = block.address === undefined ? undefined : parseAddress(block.address)
  const ofPurpose = purpose === 'api' ? defaults.http : defaults.ops
  const defaultPort = dialect === 'consul' ? defaults.consul : ofPurpose
  return {
    purpose,
    dialect,
    host: address?.host ?? bindAddr,
    port: address?.port ?? defaultPort,
    tls: isSilentOnTls(block) && purpose === 'api' ? shared : tlsOf(block, key, complain),
  }
}

function isSilentOnTls(block: ListenerFile): boolean {
  const { tls_disable: disabled, tls_cert_file: certFile, tls_key_file: keyFile } = block
  return disabled === undefined && certFile === undefined && keyFile === undefined
}

function tlsOf(block: ListenerFile, key: string, complain: Complain): ListenerConfig['tls'] {
  const { tls_disable: disabled, tls_cert_file: certFile, tls_key_file: keyFile } = block
  if (disabled === true) return null
  if (certFile !== undefined && keyFile !== undefined) {
    return {
      certFile: resolve(certFile),
      keyFile: resolve(keyFile),
      minVersion: 'TLSv1.2',
      block: 'listener',
    }
  }
  const wanted = disabled === false || certFile !== undefined || keyFile !== undefined
  const way = 'name the PEM file, or set tls_disable to true'
  if (wanted && certFile === undefined) complain(`${key}.tls_cert_file`, `missing; ${way}`)
  if (wanted && keyFile === undefined) complain(`${key}.tls_key_file`, `missing; ${way}`)
  return null
}

type Endpoint = { readonly key: string; readonly host: string; readonly port: number }

function refuseSharedPorts(endpoints: readonly Endpoint[], complain: Complain): void {
  for (const [at, { key, host, port }] of endpoints.entries()) {
    const earlier = endpoints
      .slice(0, at)
      .find((other) => port !== 0 && other.port === port && overlap(other.host, host))
    if (earlier !== undefined) {
      complain(key, `${port} is also ${earlier.key}; each listener needs its own port`)
    }
  }
}

function overlap(left: string, right: string): boolean {
  return left === right || isWildcard(left) || isWildcard(right)
}
