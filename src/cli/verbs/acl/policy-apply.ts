/** `muster acl policy apply`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { aclPath } from './describe.ts'

export const aclPolicyApply: Verb = {
  operands: { usage: 'NAME FILE|-', countMin: 2, countMax: 2 },
  about: `
Creates a policy or replaces it. The FILE, or - for standard input, holds its rules in HCL or JSON.
Tokens that have it are held to it from the next request on.
`,
  flags: {
    description: { summary: 'What it is for', value: 'TEXT', empty: true },
    ...connectionFlags,
  },
  async run(call) {
    const [name = '', path = ''] = call.operands
    const rules = await new Sources(call.terminal).text(path, 'the policy')
    const client = await ApiClient.open(call)
    await client.ask('PUT', aclPath('policy', name), {
      json: { Name: name, Description: call.flags.last('description') ?? '', Rules: rules },
    })
    call.terminal.out(`Applied policy ${JSON.stringify(name)}\n`)
    return exits.ok
  },
}
