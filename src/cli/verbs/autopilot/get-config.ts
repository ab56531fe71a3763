/** `muster operator autopilot get-config`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { configurationOf } from '../../configuration.ts'
import { configurationPath, settingLines } from './configuration.ts'

export const autopilotGetConfig: Verb = {
  operands: noOperands,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get(configurationPath)
    await show(call, json, () => settingLines(configurationOf(json).settings))
    return exits.ok
  },
}
