/** `muster operator gossip keyring install`, `use` and `remove`: a change of the keys of all members. */
import { integerOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { Sources } from '../../source.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'

export const gossipKeyInstall = keyChange(
  'install',
  'Installed the key',
  'Gives all members one more key: from then on they read what is sealed with it.',
)

export const gossipKeyUse = keyChange(
  'use',
  'The key is used',
  'Makes all members seal with a key that they hold already: install it first.',
)

export const gossipKeyRemove = keyChange(
  'remove',
  'Removed the key',
  'Takes a key from all members. The one in use stays: use another one first.',
)

function keyChange(type: 'install' | 'use' | 'remove', done: string, about: string): Verb {
  return {
    operands: oneOperand('KEY|-'),
    about: `
${about}
KEY is in base64; - reads it from standard input, where nobody who lists processes sees it.
`,
    flags: { ...connectionFlags },
    async run(call) {
      const { operands, terminal } = call
      const [word = ''] = operands
      const key = word === '-' ? (await new Sources(terminal).text('-', 'the key')).trim() : word
      if (key === '') misused('the key is empty')
      const client = await ApiClient.open(call)
      const { json } = await client.ask('PUT', `/v1/operator/gossip/keyring/${type}`, {
        json: { Key: key },
      })
      const count = integerOf(objectOf(json), 'NumResp')
      terminal.out(`${done} on ${count} ${count === '1' ? 'member' : 'members'}\n`)
      return exits.ok
    },
  }
}
