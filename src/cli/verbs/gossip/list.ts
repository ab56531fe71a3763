/** `muster operator gossip keyring list`. */
import { integerOf, objectOf, pairsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table, visible } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

export const gossipKeyList: Verb = {
  operands: noOperands,
  about: `
Shows each key of the gossip, how many members hold it and how many seal with it. The keys
themselves are shown: mind who looks on.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    const { type } = formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/operator/gossip/keyring')
    const answer = objectOf(json)
    const members = integerOf(answer, 'NumNodes')
    await show(call, json, (style) => {
      const keys = objectOf(answer['Keys'])
      const primary = objectOf(answer['PrimaryKeys'])
      const share = (counts: typeof keys, key: string) =>
        `${Object.hasOwn(counts, key) ? integerOf(counts, key) : '0'}/${members}`
      return table(
        style,
        ['Key', 'Held By', 'Used By'],
        Object.keys(keys).map((key) => [key, share(keys, key), share(primary, key)]),
      )
    })
    if (type !== 'table') return exits.ok
    for (const [member, problem] of pairsOf(answer, 'Messages')) {
      call.terminal.err(`${visible(member)}: ${visible(problem)}\n`)
    }
    return exits.ok
  },
}
