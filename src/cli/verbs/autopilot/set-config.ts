/** `muster operator autopilot set-config`: what no option names stays as it is. */
import { parseDurationNs } from '../../../lib/duration.ts'
import { MusterError } from '../../../lib/errors.ts'
import { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { countFlag, misused, type FlagTable, type Flags } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { configurationOf, configurationPath } from './configuration.ts'

const settingFlags: FlagTable = {
  'cleanup-dead-servers': {
    summary: 'Remove a failed server once it is replaced; =false to stop that',
    value: null,
  },
  'last-contact-threshold': {
    summary: 'Who is silent for longer is not healthy, as in 200ms',
    value: 'TIME',
  },
  'max-trailing-logs': { summary: 'Who misses more entries is not healthy', value: 'COUNT' },
  'min-quorum': { summary: 'The cleanup leaves so many voters', value: 'COUNT' },
  'server-stabilization-time': {
    summary: 'A new server votes after this, as in 10s',
    value: 'TIME',
  },
}

export const autopilotSetConfig: Verb = {
  operands: noOperands,
  about: `
Changes what the options name; the rest stays as it is. When another operator changes it at the same
moment, nothing is changed and the exit code is 1.
`,
  flags: { ...settingFlags, ...connectionFlags },
  async run(call) {
    const { flags, terminal } = call
    const changes = changesOf(flags)
    if (Object.keys(changes).length === 0) {
      const names = Object.keys(settingFlags).map((name) => `-${name}`)
      misused(`say what to change: ${names.join(', ')}`)
    }
    const client = await ApiClient.open(call)
    const { settings, index } = configurationOf(await client.get(configurationPath))
    const { json } = await client.ask('PUT', configurationPath, {
      search: { cas: index },
      json: { ...settings, ...changes },
    })
    if (json !== true) {
      throw new MusterError(
        'conflict',
        'nothing was changed: the configuration was changed meanwhile; try again',
      )
    }
    terminal.out('Configuration updated\n')
    return exits.ok
  },
}

function changesOf(flags: Flags): JsonObject {
  const cleanup = flags.last('cleanup-dead-servers')
  const all: Readonly<Record<string, Json | undefined>> = {
    CleanupDeadServers: cleanup === undefined ? undefined : cleanup === 'true',
    LastContactThreshold: durationFlag(flags, 'last-contact-threshold'),
    MaxTrailingLogs: countFlag(flags, 'max-trailing-logs', 0),
    MinQuorum: countFlag(flags, 'min-quorum', 0),
    ServerStabilizationTime: durationFlag(flags, 'server-stabilization-time'),
  }
  const given: Record<string, Json> = {}
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined) given[name] = value
  }
  return given
}

function durationFlag(flags: Flags, name: string): string | undefined {
  const text = flags.last(name)
  if (text === undefined || parseDurationNs(text) !== undefined) return text
  return misused(`-${name} must be a duration such as 10s or 200ms, not ${JSON.stringify(text)}`)
}
