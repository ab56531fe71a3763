/** `muster operator autopilot set-config`: what no option names stays as it is. */
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { countFlag, durationTextFlag, switchFlag, type FlagTable, type Flags } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { changeSettings, namedSettings } from '../../configuration.ts'
import { configurationPath } from './configuration.ts'

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
    const client = await ApiClient.open(call)
    await changeSettings(client, configurationPath, changes)
    terminal.out('Configuration updated\n')
    return exits.ok
  },
}

function changesOf(flags: Flags): JsonObject {
  return namedSettings(settingFlags, {
    CleanupDeadServers: switchFlag(flags, 'cleanup-dead-servers'),
    LastContactThreshold: durationTextFlag(flags, 'last-contact-threshold'),
    MaxTrailingLogs: countFlag(flags, 'max-trailing-logs', 0),
    MinQuorum: countFlag(flags, 'min-quorum', 0),
    ServerStabilizationTime: durationTextFlag(flags, 'server-stabilization-time'),
  })
}
