/** What a configuration says of the API's listener, as the HTTP engine wants it. */
import { aliasPrefixes } from '../api/headers.ts'
import { browserSettingsOf } from './browser-settings.ts'
import { clientLimitsOf } from './client-limits.ts'
import type { RuntimeConfig } from './runtime-config.ts'

export function httpSettingsOf(config: RuntimeConfig) {
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
      connectionsMax: limits.httpConnectionsMax,
      connectionsPerClientMax: limits.httpConnectionsPerClientMax,
    },
  }
}

/** For a check of the configuration. */
export { budgetBytesMin } from '../api/body-budget.ts'
