/** `muster operator scheduler brake set`: what no option names stays as it is. */
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { countFlag, durationTextFlag, type FlagTable, type Flags } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { changeSettings, namedSettings } from '../../configuration.ts'
import { brakePath } from './brake.ts'

const settingFlags: FlagTable = {
  share: { summary: 'More lost nodes than this are a storm; 0: no brake', value: 'PERCENT' },
  'min-nodes': { summary: 'Fewer lost nodes are none', value: 'COUNT' },
  window: { summary: 'Nodes that are lost within it count together', value: 'DURATION' },
  'max-hold': { summary: 'Then it is released by itself; 0: never', value: 'DURATION' },
}

export const brakeSet: Verb = {
  operands: noOperands,
  about: `
Changes what the options name; the rest stays as it is. A brake that is on stays on, and holds as
long as the new -max-hold says; -share 0 releases it.
`,
  flags: { ...settingFlags, ...connectionFlags },
  async run(call) {
    const changes = changesOf(call.flags)
    const client = await ApiClient.open(call)
    await changeSettings(client, brakePath, changes)
    call.terminal.out('Storm brake updated\n')
    return exits.ok
  },
}

function changesOf(flags: Flags): JsonObject {
  return namedSettings(settingFlags, {
    SharePercent: countFlag(flags, 'share', 0),
    MinNodes: countFlag(flags, 'min-nodes', 1),
    Window: durationTextFlag(flags, 'window'),
    MaxHold: durationTextFlag(flags, 'max-hold'),
  })
}
