/** What a configuration says of the API's listener, as the HTTP engine wants it. */
import { aliasPrefixes } from '../api/headers.ts'
import { clientLimitsOf } from './client-limits.ts'
import type { MemberConfig } from './member-config.ts'

export function httpSettingsOf({ region, limits, headerAliases }: MemberConfig) {
  return {
    region,
    clientLimits: clientLimitsOf(limits),
    aliases: headerAliases.map((alias) => aliasPrefixes[alias]),
    limits: {
      bodyBytesMax: limits.httpBodyBytesMax,
      connectionsMax: limits.httpConnectionsMax,
      connectionsPerClientMax: limits.httpConnectionsPerClientMax,
    },
  }
}
