/** The `http` block of a configuration: what the API makes of requests that browsers send. */
import type { Complain } from './config-listeners.ts'
import { type ConfigFile } from './config-schema.ts'
import { isHost } from './config-values.ts'

export type HttpConfig = {
  /** Names, `*.` and a name, or `*`. */
  readonly allowedHosts: readonly string[]
  /** As browsers send them. */
  readonly corsOrigins: readonly string[]
}

export function completeHttp(
  file: NonNullable<ConfigFile['http']>,
  complain: Complain,
): HttpConfig {
  const allowedHosts = file.allowed_hosts ?? []
  for (const [at, host] of allowedHosts.entries()) {
    if (host !== '*' && !isHost(host.replace(/^\*\./, '').replace(/\.$/, ''))) {
      complain(
        `http.allowed_hosts.${at}`,
        `${JSON.stringify(host)} must be a host without a port, "*." and a name, or "*" for any host`,
      )
    }
  }
  const corsOrigins = file.cors?.allowed_origins ?? []
  for (const [at, origin] of corsOrigins.entries()) {
    if (!isOrigin(origin)) {
      complain(
        `http.cors.allowed_origins.${at}`,
        `${JSON.stringify(origin)} must be an origin as browsers send it, as in "https://ui.example.com"; "*" and "null" are every page`,
      )
    }
  }
  return { allowedHosts, corsOrigins }
}

/** In lower case, without a path, and without the port that its scheme has anyway. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === text
}
