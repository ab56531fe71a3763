/** `muster system gc`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

export const systemGc: Verb = {
  operands: noOperands,
  about: `
Forgets all jobs, evaluations and allocations that are over, however new. The leader goes on with
it after the command ended.
`,
  flags: connectionFlags,
  async run(call) {
    const client = await ApiClient.open(call)
    await client.ask('PUT', '/v1/system/gc', {})
    return exits.ok
  },
}
