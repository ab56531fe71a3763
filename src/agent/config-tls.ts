/**
 * The `tls` block: which files this agent shows and trusts, and for what. What the files hold is looked at when the
 * server starts.
 */
import { resolve } from 'node:path'
import type { Complain } from './config-listeners.ts'
import { tlsVersions, type ConfigFile, type TlsVersion } from './config-schema.ts'

export type TlsConfig = {
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

type TlsFile = NonNullable<ConfigFile['tls']>

export function completeTls(file: TlsFile, complain: Complain): TlsConfig {
  const { http = false, rpc = false } = file
  const needed = (key: 'ca_file' | 'cert_file' | 'key_file', by: string): string => {
    const path = file[key]
    if (path === undefined) {
      complain(`tls.${key}`, `missing; tls.${by} is true, so name the PEM file`)
    }
    return resolve(path ?? '.')
  }
  if (!rpc && file.rpc_upgrade_mode === true) {
    complain('tls.rpc_upgrade_mode', 'is for the time after tls.rpc was set to true; set both')
  }
  const verifyServerHostname = file.verify_server_hostname ?? true
  const minVersion = tlsVersions[file.tls_min_version ?? 'tls12']
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
            upgradeMode: file.rpc_upgrade_mode ?? false,
          },
  }
}
