/** `muster namespace apply`. */
import { isNamespaceName } from '../../../domains/namespaces/model.ts'
import { objectOf, pairsOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { pairsOfFlag } from '../../items.ts'
import { memberOf, Sources, textMember, textsMember } from '../../source.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findNamespace, namespacePath } from './describe.ts'

export const namespaceApply: Verb = {
  operands: oneOperand('NAME|FILE|-'),
  about: `
Creates a namespace or changes it. With a NAME, what no option names stays as it is. A FILE, or -
for standard input, says all of it, in HCL or JSON: name, description, meta. What holds a dot or a
slash, or begins with @, is a FILE.
`,
  flags: {
    description: { summary: 'What it is for; empty clears it', value: 'TEXT', empty: true },
    meta: { summary: 'One entry more of Meta; repeatable', value: 'KEY=VALUE' },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [word = ''] = operands
    const meta = pairsOfFlag(flags, 'meta')
    // A hyphen alone would be a name too, but in a command line it is standard input.
    const isName = word !== '-' && isNamespaceName(word)
    const spec = isName
      ? { Name: word }
      : await new Sources(terminal).specification(word.startsWith('@') ? word.slice(1) : word)
    const name = textMember(spec, 'Name') ?? misused('the specification has no Name')
    const client = await ApiClient.open(call)
    const basis = isName ? await basisOf(client, word) : spec
    const answer = await client.ask('PUT', namespacePath(name), {
      json: {
        Name: name,
        Description: flags.last('description') ?? textMember(basis, 'Description') ?? '',
        Meta: Object.fromEntries([...textsMember(basis, 'Meta'), ...meta]),
      },
    })
    terminal.out(`Applied namespace ${JSON.stringify(textOf(objectOf(answer.json), 'Name'))}\n`)
    return exits.ok
  },
}

/** What there is of it now. */
async function basisOf(client: ApiClient, name: string): Promise<JsonObject> {
  const present = await findNamespace(client, name)
  if (present === null) return {}
  const row = objectOf(present)
  return {
    Description: memberOf(row, 'Description') ?? '',
    Meta: Object.fromEntries(pairsOf(row, 'Meta')),
  }
}
