/** `muster acl bootstrap`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { describeToken } from './describe.ts'

export const aclBootstrap: Verb = {
  operands: { usage: '[FILE|-]', countMin: 0, countMax: 1 },
  about: `
Makes the first token, which may do everything; keep its secret, for nobody can show it again. A
FILE, or - for standard input, holds a secret of your choice: 32 to 256 random characters.

It works once. To make it work again, write the reset index that the refusal names into the file
acl-bootstrap-reset in the leader's data folder.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [path] = call.operands
    const secret =
      path === undefined ? null : (await new Sources(call.terminal).text(path, 'the secret')).trim()
    const client = await ApiClient.open(call)
    const json = secret === null ? {} : { BootstrapSecret: secret }
    const answer = await client.ask('PUT', '/v1/acl/bootstrap', { json })
    await show(call, answer.json, () => describeToken(answer.json), true)
    return exits.ok
  },
}
