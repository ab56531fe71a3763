/** `muster job validate`. */
import { MusterError, textOf as messageOf } from '../../../lib/errors.ts'
import { objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, parseJson, type Json } from '../../api/json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { Sources } from '../../source.ts'
import { exits, type Call, type Verb } from '../../verb.ts'

export const jobValidate: Verb = {
  operands: { usage: 'FILE|-', countMin: 1, countMax: 1 },
  about: `
Has the agent read a job file, HCL or JSON, and check the job. Nothing is registered. The exit code
is 1 where something is wrong with it.
`,
  flags: {
    var: {
      summary: 'Value of a variable of the file; repeatable',
      value: 'NAME=VALUE',
      empty: true,
    },
    'var-file': { summary: 'Values of variables in HCL; repeatable', value: 'FILE' },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const [path = ''] = call.operands
    const sources = new Sources(call.terminal)
    const variables = await variablesOf(call, sources)
    const text = await sources.text(path, path === '-' ? 'the job' : path)
    const client = await ApiClient.open(call)
    const Job = await jobOf(client, { path, text, variables })
    const { json } = await client.ask('PUT', '/v1/validate/job', { json: { Job } })
    const answer = objectOf(json)
    const errors = answer['ValidationErrors'] === null ? [] : textsOf(answer, 'ValidationErrors')
    await show(call, json, (style) => {
      const warnings = textOf(answer, 'Warnings')
      const remarks = warnings === '' ? '' : `${style.heading('Job warnings')}\n${warnings}\n\n`
      if (errors.length === 0) return `${remarks}Job validation successful\n`
      const list = errors.map((error) => `* ${error}\n`).join('')
      return `${remarks}${style.heading('Job validation errors')}\n${list}`
    })
    return errors.length === 0 ? exits.ok : exits.failed
  },
}

type Source = { readonly path: string; readonly text: string; readonly variables: string }

/** As the API has it; a refusal names the file where the agent names the job. */
async function jobOf(client: ApiClient, { path, text, variables }: Source): Promise<Json> {
  if (text.trimStart().startsWith('{')) {
    const value = parseJson(text, path)
    return isObject(value) && isObject(value['Job']) ? value['Job'] : value
  }
  try {
    const body = { JobHCL: text, Variables: variables }
    return (await client.ask('POST', '/v1/jobs/parse', { json: body })).json
  } catch (error) {
    const place = /\bjob:(?=\d+:\d+: )/
    const message = messageOf(error)
    if (!(error instanceof MusterError) || !place.test(message)) throw error
    throw new MusterError(
      error.code,
      message.replace(place, () => `${path}:`),
      { cause: error },
    )
  }
}

/** What is written on the command line goes before what files say. */
async function variablesOf({ flags }: Call, sources: Sources): Promise<string> {
  const given = new Map<string, Json>()
  for (const file of flags.all('var-file')) {
    const values = await sources.specification(file)
    for (const [name, value] of Object.entries(values)) given.set(name, value)
  }
  for (const pair of flags.all('var')) {
    const [, name, value = ''] = /^([\p{L}_][\p{L}\p{N}_-]*)=(.*)$/su.exec(pair) ?? []
    if (name === undefined) misused('-var is written as NAME=VALUE')
    given.set(name, value)
  }
  return [...given].map(([name, value]) => `${name} = ${inHcl(value)}\n`).join('')
}

/** JSON is HCL but for two escapes, and for what would be a template. */
function inHcl(value: Json): string {
  return JSON.stringify(value)
    .replaceAll(/\\(.)/g, (escape, letter: string) =>
      letter === 'b' ? '\\u0008' : letter === 'f' ? '\\u000c' : escape,
    )
    .replaceAll(/[$%](?=\{)/g, '$&$&')
}
