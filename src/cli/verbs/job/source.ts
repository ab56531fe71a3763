/** A job file, HCL or JSON, as the API has the job. */
import { MusterError, textOf as messageOf } from '../../../lib/errors.ts'
import { parseHclExpressions } from '../../../lib/hcl-expression.ts'
import { objectOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import { fromEnvironment } from '../../api/settings.ts'
import { isObject, parseJson, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { misused, type Flags, type FlagTable } from '../../flags.ts'
import { Sources } from '../../source.ts'
import type { Call } from '../../verb.ts'

export const fileOperand = { usage: 'FILE|-', countMin: 1, countMax: 1 } as const

export const variableFlags: FlagTable = {
  var: {
    summary: 'Value of a variable of the file [MUSTER_VAR_NAME]; repeatable',
    value: 'NAME=VALUE',
    empty: true,
  },
  'var-file': { summary: 'Values of variables in HCL; repeatable', value: 'FILE' },
}

export type JobSource = { readonly path: string; readonly text: string; readonly variables: string }

/** Reads what the command line names; asks no agent. */
export async function readSource(call: Call): Promise<JobSource> {
  const [path = ''] = call.operands
  const sources = new Sources(call.terminal)
  const given = await givenVariables(call, sources)
  const text = await sources.text(path, path === '-' ? 'the job' : path)
  const all = new Map([...variablesOfEnvironment(call, text), ...given])
  const lines = [...all].map(([name, value]) => `${name} = ${inHcl(value)}\n`)
  return { path, text, variables: lines.join('') }
}

export function isJson({ text }: JobSource): boolean {
  return text.trimStart().startsWith('{')
}

export type Parse = {
  /** With its defaults, where it is HCL. */
  readonly canonicalize: boolean
  /** Of a job that names none. */
  readonly namespace?: string | null
}

/** As the API has it; a refusal names the file where the agent names the job. */
export async function jobOf(
  client: ApiClient,
  source: JobSource,
  { canonicalize, namespace = null }: Parse,
): Promise<Json> {
  const { path, text, variables } = source
  if (isJson(source)) {
    const value = parseJson(text, path)
    return isObject(value) && isObject(value['Job']) ? value['Job'] : value
  }
  try {
    const body = { JobHCL: text, Variables: variables, Canonicalize: canonicalize }
    return (await client.ask('POST', '/v1/jobs/parse', { json: body, search: { namespace } })).json
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

/** As it is sent: in the namespace of the option, else of the file, else of the settings; null: in none. */
export async function jobToSend(client: ApiClient, source: JobSource, flags: Flags) {
  const { namespace } = client.settings
  const parsed = objectOf(await jobOf(client, source, { canonicalize: true, namespace }))
  const Namespace = flags.last('namespace') ?? (wordOf(parsed, 'Namespace') || namespace)
  return { Job: Namespace === null ? parsed : { ...parsed, Namespace }, Namespace }
}

/** What is wrong with a member is for the agent to say. */
export function wordOf(job: JsonObject, name: string): string {
  const value = Object.hasOwn(job, name) ? job[name] : undefined
  return typeof value === 'string' ? value : ''
}

/** What is written on the command line goes before what files say. */
async function givenVariables(
  { flags }: Call,
  sources: Sources,
): Promise<ReadonlyMap<string, Json>> {
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
  return given
}

/** Of those that the file declares: the environment is that of other files too. */
function variablesOfEnvironment(
  { terminal }: Call,
  text: string,
): readonly (readonly [name: string, value: Json])[] {
  return declaredIn(text).flatMap((name) => {
    const value = fromEnvironment(terminal, `VAR_${name}`)
    return value === undefined ? [] : [[name, value] as const]
  })
}

/** None where the file cannot be read: the agent says why. */
function declaredIn(text: string): readonly string[] {
  try {
    const { blocks } = parseHclExpressions(text, 'job')
    return blocks.flatMap(({ name, labels, body }) =>
      name === 'variable' ? labels : name === 'variables' ? [...body.attributes.keys()] : [],
    )
  } catch {
    return []
  }
}

/** JSON is HCL but for two escapes, and for what would be a template. */
function inHcl(value: Json): string {
  return JSON.stringify(value)
    .replaceAll(/\\(.)/g, (escape, letter: string) =>
      letter === 'b' ? '\\u0008' : letter === 'f' ? '\\u000c' : escape,
    )
    .replaceAll(/[$%](?=\{)/g, '$&$&')
}
