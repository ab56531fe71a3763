/** `muster acl token delete`, `acl policy delete` and `acl role delete`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { aclPath, unknownOr, type Kind } from './describe.ts'

export const aclTokenDelete = deleteVerb(
  'token',
  'ACCESSOR',
  `
Revokes a token. Sessions that were made with it end, and their locks are free.
`,
)

export const aclPolicyDelete = deleteVerb(
  'policy',
  'NAME',
  `
Deletes a policy. Tokens and roles that name it have nothing of it any more.
`,
)

export const aclRoleDelete = deleteVerb(
  'role',
  'NAME',
  `
Deletes a role. Tokens that name it have nothing of it any more.
`,
)

function deleteVerb(kind: Kind, operand: string, about: string): Verb {
  return {
    operands: oneOperand(operand),
    about,
    flags: connectionFlags,
    async run(call) {
      const [name = ''] = call.operands
      const client = await ApiClient.open(call)
      await client.ask('DELETE', aclPath(kind, name)).catch((error: unknown) => {
        throw unknownOr(error, kind, name)
      })
      call.terminal.out(`Deleted ${kind} ${JSON.stringify(name)}\n`)
      return exits.ok
    },
  }
}
