/** `muster auth list`, `enable`, `disable` and `tune`: login methods and where they are mounted. */
import { objectOf, textOf } from '../../api/answer.ts'
import { ApiClient, escapePath } from '../../api/client.ts'
import { isObject, type Json } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused, type FlagTable } from '../../flags.ts'
import { show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, noOperands, oneOperand, type Call, type Verb } from '../../verb.ts'
import { answerFlags, checkFormat, showAnswer } from '../path/path.ts'

const tuneFlags: FlagTable = {
  description: { summary: 'What it is for', value: 'TEXT', empty: true },
  'default-lease-ttl': { summary: 'How long its tokens last', value: 'DURATION' },
  'max-lease-ttl': { summary: 'How long at most', value: 'DURATION' },
  'token-type': { summary: 'default-service or default-batch', value: 'TYPE' },
}

export const authList: Verb = {
  operands: noOperands,
  flags: { ...answerFlags, ...connectionFlags },
  async run(call) {
    checkFormat(call)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/sys/auth')
    if (call.flags.has('field')) return showAnswer(call, json, 'Nothing')
    await show(call, json, (style) =>
      table(style, ['Path', 'Type', 'Accessor', 'Description'], rowsOf(json)),
    )
    return exits.ok
  },
}

export const authEnable: Verb = {
  operands: oneOperand('TYPE'),
  about: `
Mounts a login method: muster auth enable -path=corp ldap
`,
  flags: {
    path: { summary: 'Where; its type by default', value: 'PATH' },
    ...tuneFlags,
    ...answerFlags,
    ...connectionFlags,
  },
  async run(call) {
    checkFormat(call)
    const [type = ''] = call.operands
    const path = call.flags.last('path') ?? type
    const { description = '', ...config } = tuned(call)
    return ask(
      call,
      'POST',
      mountPath(path),
      { type, description, config },
      `Enabled ${type} at ${path}`,
    )
  },
}

export const authDisable: Verb = {
  operands: oneOperand('PATH'),
  about: `
Unmounts a login method, forgets its configuration, and ends every token that it issued.
`,
  flags: { ...answerFlags, ...connectionFlags },
  async run(call) {
    checkFormat(call)
    const [path = ''] = call.operands
    return ask(call, 'DELETE', mountPath(path), null, `Disabled ${path}`)
  },
}

export const authTune: Verb = {
  operands: oneOperand('PATH'),
  about: `
Changes how a login method is mounted; without options it shows that.
`,
  flags: { ...tuneFlags, ...answerFlags, ...connectionFlags },
  async run(call) {
    checkFormat(call)
    const [path = ''] = call.operands
    const wanted = tuned(call)
    const target = `${mountPath(path)}/tune`
    if (Object.keys(wanted).length === 0) return ask(call, 'GET', target, null, 'Nothing')
    return ask(call, 'POST', target, wanted, `Tuned ${path}`)
  },
}

function mountPath(path: string): string {
  const trimmed = path.replace(/^\/+|\/+$/g, '')
  if (trimmed === '') misused('the path of the login method is empty')
  return `/v1/sys/auth/${escapePath(trimmed)}`
}

/** Only what was given. */
function tuned({ flags }: Call): Readonly<Record<string, Json>> {
  const given = Object.keys(tuneFlags).map((name) => [name.replaceAll('-', '_'), flags.last(name)])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

async function ask(
  call: Call,
  method: string,
  path: string,
  json: Json,
  done: string,
): Promise<number> {
  const client = await ApiClient.open(call)
  const answer = await client.ask(method, path, json === null ? {} : { json })
  return showAnswer(call, answer.json, done)
}

function rowsOf(json: Json): readonly (readonly string[])[] {
  const mounts = objectOf(objectOf(json)['data'])
  return Object.entries(mounts)
    .filter(([, mount]) => isObject(mount))
    .map(([path, value]) => {
      const mount = objectOf(value)
      return [path, textOf(mount, 'type'), textOf(mount, 'accessor'), textOf(mount, 'description')]
    })
}
