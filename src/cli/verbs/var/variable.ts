/** What the commands about variables share. */
import { integerOf, objectOf, pairsOf, textOf, timeOf } from '../../api/answer.ts'
import { escapePath, type Answer, type ApiClient } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'
import { misused, unsignedFlag, type FlagTable, type Flags } from '../../flags.ts'
import { MusterError } from '../../../lib/errors.ts'
import { pairs } from '../../print/table.ts'
import type { Style } from '../../print/style.ts'

export const checkIndexFlag: FlagTable = {
  'check-index': {
    summary: 'Only if the variable is at this index; 0: only if there is none',
    value: 'INDEX',
  },
}

/** Where the API has the variable. Slashes at either end are part of the path: `a` and `a/` are two. */
export function variablePath(path: string): string {
  if (path === '') misused('the path of the variable is empty')
  return `/v1/var/${escapePath(path)}`
}

/** As text, with every digit. */
export function checkIndexOf(flags: Flags): string | undefined {
  return unsignedFlag(flags, 'check-index')
}

/** A write with `cas`. Throws `conflict` with what stands. */
export async function checkAndSet(
  client: ApiClient,
  method: string,
  path: string,
  ask: {
    readonly cas: string | undefined
    readonly namespace: string | null
    readonly json?: Json
  },
): Promise<Answer> {
  const { cas, namespace, json } = ask
  const answer = await client.ask(method, variablePath(path), {
    search: { cas, namespace },
    also: [409],
    ...(json !== undefined && { json }),
  })
  if (answer.status !== 409) return answer
  const present = objectOf(answer.json)
  const index = integerOf(present, 'ModifyIndex')
  throw new MusterError(
    'conflict',
    index === '0'
      ? `nothing was changed: there is no variable ${JSON.stringify(path)}, and index ${cas} was expected`
      : `nothing was changed: the variable is at index ${index} since ${timeOf(present, 'ModifyTime')}, and index ${cas} was expected`,
  )
}

export function describeVariable(value: Json, style: Style): string {
  const variable = objectOf(value)
  const items = pairsOf(variable, 'Items')
  const about = pairs([
    ['Namespace', textOf(variable, 'Namespace')],
    ['Path', textOf(variable, 'Path')],
    ['Create Time', timeOf(variable, 'CreateTime')],
    ['Modify Time', timeOf(variable, 'ModifyTime')],
    ['Check Index', integerOf(variable, 'ModifyIndex')],
  ])
  return `${about}\n${style.heading('Items')}\n${pairs(items)}`
}
