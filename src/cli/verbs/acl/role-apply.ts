/** `muster acl role apply`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { aclPath } from './describe.ts'

export const aclRoleApply: Verb = {
  operands: oneOperand('NAME'),
  about: `
Creates a role or replaces it: a name for policies that go together.
`,
  flags: {
    policy: { summary: 'One policy it has; repeatable', value: 'NAME' },
    description: { summary: 'What it is for', value: 'TEXT', empty: true },
    ...connectionFlags,
  },
  async run(call) {
    const [name = ''] = call.operands
    const client = await ApiClient.open(call)
    await client.ask('PUT', aclPath('role', name), {
      json: {
        Name: name,
        Description: call.flags.last('description') ?? '',
        Policies: call.flags.all('policy'),
      },
    })
    call.terminal.out(`Applied role ${JSON.stringify(name)}\n`)
    return exits.ok
  },
}
