/**
 * The `tls` block: which files this agent shows and trusts, and for what. What the files hold is looked at when the
 * server starts.
 */
import { join, resolve } from 'node:path'
import Type from 'typebox'
import { isLoopbackAddress } from '../lib/host-port.ts'
import { tlsFolderFiles, tlsFolderOfFirst } from '../lib/tls-folder.ts'
import type { Complain } from './config-check.ts'
import { choice, closed, flag, path } from './config-values.ts'

/** The library's names. */
const tlsVersions = { tls12: 'TLSv1.2', tls13: 'TLSv1.3' } as const
export type TlsVersion = (typeof tlsVersions)[keyof typeof tlsVersions]

/** A folder stands for some of these, so that those have no default here. */
export const tlsSchema = Type.Object(
  {
    folder: Type.Optional(
      path('the path of a folder', {
        about:
          'stands for `rpc` (of servers), `http`, and the three files `ca.pem`, `cert.pem` and `key.pem` in it; keys beside it count first',
      }),
    ),
    auto: flag({ default: false, about: "a folder of this server's own, see above" }),
    rpc: Type.Optional(
      flag({ shown: '`false`', about: 'TLS between servers; needs all three files' }),
    ),
    ca_file: Type.Optional(
      path('the path of a PEM file', {
        about:
          'PEM: the authorities whose certificates are believed, one or several; on a client agent: [only TLS to servers](client-agents.md#tls)',
      }),
    ),
    cert_file: Type.Optional(
      path('the path of a PEM file', {
        about: "PEM: this server's certificate, then those between it and its authority",
      }),
    ),
    key_file: Type.Optional(path('the path of a PEM file', { about: 'PEM without a password' })),
    verify_server_hostname: flag({
      default: true,
      about:
        'others must show `server.<region>.muster` of this region; `false`: any certificate of the authorities',
    }),
    rpc_upgrade_mode: flag({
      default: false,
      about:
        'plain connections are taken too, and made where TLS is not spoken: only for the time of a change',
    }),
    tls_min_version: choice(['tls12', 'tls13'], {
      default: 'tls12',
      about: 'or `"tls13"`; servers of one version of the program always agree on 1.3',
    }),
    http: Type.Optional(
      flag({
        shown: '`false`',
        about:
          "HTTPS with the same pair on the API's listener, if no `listener` block makes one; asks no certificate of clients",
      }),
    ),
  },
  { ...closed, default: {}, about: 'RPC and HTTP over TLS: [TLS](tls.md)', shown: 'plain' },
)

export type TlsConfig = {
  /** What a server makes at its first start, with an authority of its own; null: the files are there. */
  readonly auto: {
    /** As 'muster tls bootstrap' lays it out. */
    readonly folder: string
    /** That others reach this server at. */
    readonly address: string
  } | null
  /** The files are for all listeners of the API that say nothing of TLS, not only for the one at its port. */
  readonly byFolder: boolean
  /** The authorities whose certificates a client agent takes for a server's; null: it takes any member that says so. */
  readonly caFile: string | null
  /** Whether certificates must be those of servers of this region. */
  readonly verifyServerHostname: boolean
  readonly minVersion: TlsVersion
  /** For the API where no `listener` block says more; null: plain HTTP. Absolute paths, here and below. */
  readonly http: {
    readonly certFile: string
    readonly keyFile: string
    readonly minVersion: TlsVersion
  } | null
  /** Between servers, with certificates on both sides; null: plain. */
  readonly rpc: {
    readonly caFile: string
    readonly certFile: string
    readonly keyFile: string
    /** Whether certificates must be those of servers of this region. */
    readonly verifyServerHostname: boolean
    /** Plain connections are taken and made too, while the servers change over one by one. */
    readonly upgradeMode: boolean
    readonly minVersion: TlsVersion
  } | null
}

type TlsFile = Type.StaticDecode<typeof tlsSchema>

/** What of the agent decides how its TLS is. */
export type TlsAgent = {
  readonly isServer: boolean
  /** The cluster begins with this server, and others do not. */
  readonly isAlone: boolean
  readonly dataDir: string
  readonly bindAddr: string
  readonly advertiseAddr: string
  readonly rpcPort: number
  readonly allowsInsecureRpc: boolean
}

const autoFolder = 'tls'
const isForOne =
  'makes the certificates of a cluster of one server; for several, run ' +
  "'muster tls bootstrap -servers 3' once, copy its folders to the agents, and set tls.folder"

export function completeTls(given: TlsFile, agent: TlsAgent, complain: Complain): TlsConfig {
  const auto = autoOf(given, agent, complain)
  const file = withFolder(given, auto?.folder ?? null, agent.isServer)
  const { http = false, rpc = false } = file
  if (agent.isServer && !rpc) refuseOpenRpc(agent, complain)
  const needed = (key: 'ca_file' | 'cert_file' | 'key_file', by: string): string => {
    const path = file[key]
    if (path === undefined) {
      complain(`tls.${key}`, `missing; tls.${by} is true, so name the PEM file`)
    }
    return resolve(path ?? '.')
  }
  if (!rpc && file.rpc_upgrade_mode) {
    complain('tls.rpc_upgrade_mode', 'is for the time after tls.rpc was set to true; set both')
  }
  const { verify_server_hostname: verifyServerHostname } = file
  const minVersion = tlsVersions[file.tls_min_version]
  const by = rpc ? 'rpc' : 'http'
  const pair =
    rpc || http
      ? {
          certFile: needed('cert_file', by),
          keyFile: needed('key_file', by),
          minVersion,
        }
      : null
  return {
    auto,
    byFolder: auto !== null || given.folder !== undefined,
    caFile: file.ca_file === undefined ? null : resolve(file.ca_file),
    verifyServerHostname,
    minVersion,
    http: http ? pair : null,
    rpc:
      pair === null || !rpc
        ? null
        : {
            caFile: needed('ca_file', 'rpc'),
            ...pair,
            verifyServerHostname,
            upgradeMode: file.rpc_upgrade_mode,
          },
  }
}

function autoOf(file: TlsFile, agent: TlsAgent, complain: Complain): TlsConfig['auto'] {
  if (!file.auto) return null
  if (file.folder !== undefined) complain('tls.auto', 'makes a folder of its own; leave one out')
  if (!agent.isServer || !agent.isAlone) complain('tls.auto', isForOne)
  const folder = join(agent.dataDir, autoFolder)
  return { folder, address: agent.advertiseAddr }
}

/** A folder stands for its three files and for TLS everywhere; what is said beside it counts first. */
function withFolder(file: TlsFile, made: string | null, isServer: boolean): TlsFile {
  const folder = made === null ? file.folder : join(made, tlsFolderOfFirst)
  if (folder === undefined) return file
  return {
    rpc: isServer,
    http: true,
    ca_file: join(folder, tlsFolderFiles.ca),
    cert_file: join(folder, tlsFolderFiles.cert),
    key_file: join(folder, tlsFolderFiles.key),
    ...file,
  }
}

/** Without TLS between servers, only loopback keeps others from acting as one. */
function refuseOpenRpc(agent: TlsAgent, complain: Complain): void {
  const { bindAddr, rpcPort, allowsInsecureRpc } = agent
  if (allowsInsecureRpc || isLoopback(bindAddr)) return
  complain(
    'bind_addr',
    `RPC has no TLS, so any process that reaches ${bindAddr} at port ${rpcPort} could act as a server and fetch the cluster key; ` +
      "set tls.folder ('muster tls bootstrap' makes the certificates), " +
      'or allow_insecure_rpc = true in a network whose machines you trust',
  )
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host)
}
