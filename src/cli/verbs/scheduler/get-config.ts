/** `muster operator scheduler get-config`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { readScheduler, schedulerLines } from './configuration.ts'

export const schedulerGetConfig: Verb = {
  operands: noOperands,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const config = await readScheduler(client)
    await show(call, config, () => schedulerLines(config))
    return exits.ok
  },
}
