/** What a configuration says of the API's listener, as the HTTP engine wants it. */
import { aliasPrefixes } from '../api/headers.ts'
import { descriptorsMax } from '../lib/descriptors.ts'
import type { Logger } from '../lib/log.ts'
import { browserSettingsOf } from './browser-settings.ts'
import { clientLimitsOf } from './client-limits.ts'
import type { RuntimeConfig } from './runtime-config.ts'

export function httpSettingsOf(config: RuntimeConfig, log: Logger) {
  const { region, limits, headerAliases } = config
  return {
    region,
    clientLimits: clientLimitsOf(limits),
    browsers: browserSettingsOf(config),
    aliases: headerAliases.map((alias) => aliasPrefixes[alias]),
    limits: {
      bodyBytesMax: limits.httpBodyBytesMax,
      bodiesBytesMax: limits.httpBodiesBytesMax,
      answerBytesMax: limits.httpAnswerBytesMax,
      connectionsMax: connectionsOf(config, log),
      connectionsPerClientMax: limits.httpConnectionsPerClientMax,
    },
  }
}

/**
 * Of each listener. Half of the files that this process may have open are for what it works with: a server that cannot open one
 * more ends, and clients must not be able to bring that about.
 */
function connectionsOf({ limits, listeners }: RuntimeConfig, log: Logger): number {
  const { httpConnectionsMax } = limits
  const max = descriptorsMax()
  const ofApi = listeners.filter(({ purpose }) => purpose === 'api').length
  const connectionsMax = Math.max(1, Math.floor(max / 2 / Math.max(1, ofApi)))
  if (connectionsMax >= httpConnectionsMax) return httpConnectionsMax
  log.warn(
    'takes fewer connections than limits.http_connections_max: raise the limit of open files',
    {
      connectionsMax,
      http_connections_max: httpConnectionsMax,
      openFilesMax: max,
    },
  )
  return connectionsMax
}

/** For a check of the configuration. */
export { budgetBytesMin } from '../api/body-budget.ts'
