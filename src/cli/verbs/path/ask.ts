/** `muster read`, `list`, `write` and `delete`: any path of the API, where no command of its own serves it. */
import { ApiClient } from '../../api/client.ts'
import { isObject, type Json } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { itemsMax } from '../../items.ts'
import { Sources } from '../../source.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { answerFlags, apiPath, checkFormat, showAnswer } from './path.ts'
import { bodyOf } from './words.ts'

const flags = { ...answerFlags, ...connectionFlags }

export const pathRead: Verb = {
  operands: oneOperand('PATH'),
  about: `
Reads a path of the API: muster read auth/ldap/config
`,
  flags,
  async run(call) {
    checkFormat(call)
    const client = await ApiClient.open(call)
    return showAnswer(call, await client.get(apiPath(call.operands[0] ?? '')), 'Nothing')
  },
}

export const pathList: Verb = {
  operands: oneOperand('PATH'),
  about: `
Lists the names below a path of the API: muster list auth/ldap/users
`,
  flags,
  async run(call) {
    checkFormat(call)
    const client = await ApiClient.open(call)
    const json = await client.get(apiPath(call.operands[0] ?? ''), { list: 'true' })
    const keys = keysOf(json)
    if (keys === null || call.flags.has('field') || call.flags.has('json') || call.flags.has('t')) {
      return showAnswer(call, json, 'Nothing')
    }
    call.terminal.out(keys.map((key) => `${key}\n`).join(''))
    return exits.ok
  },
}

export const pathWrite: Verb = {
  operands: { usage: 'PATH [@FILE | -] [KEY=VALUE...]', countMin: 1, countMax: itemsMax },
  about: `
Writes to a path of the API:

  muster write auth/ldap/config url=ldaps://dir.example.com bindpass=@password.txt
  muster write auth/orchestrator/role/web @role.json
  muster write sys/auth/corp type=ldap

A value @FILE is what the file holds, - what comes from standard input, \\@text is @text. JSON of
a file, or of standard input for a lone -, is sent as it is; words of the command line go over it.
`,
  flags,
  async run(call) {
    checkFormat(call)
    const [path = '', ...words] = call.operands
    const json = await bodyOf(words, new Sources(call.terminal))
    const client = await ApiClient.open(call)
    const answer = await client.ask('POST', apiPath(path), { json })
    return showAnswer(call, answer.json, `Wrote ${path}`)
  },
}

export const pathDelete: Verb = {
  operands: oneOperand('PATH'),
  about: `
Deletes what is at a path of the API: muster delete auth/ldap/groups/ops
`,
  flags,
  async run(call) {
    checkFormat(call)
    const [path = ''] = call.operands
    const client = await ApiClient.open(call)
    const answer = await client.ask('DELETE', apiPath(path))
    return showAnswer(call, answer.json, `Deleted ${path}`)
  },
}

function keysOf(json: Json): readonly string[] | null {
  const data = isObject(json) ? json['data'] : undefined
  const keys = isObject(data) ? data['keys'] : undefined
  return Array.isArray(keys) ? keys.map(String) : null
}
