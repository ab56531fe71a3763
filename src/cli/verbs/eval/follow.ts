/** Follows an evaluation to its end, and says what it came to. */
import { integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { askPatiently, followPath } from '../../api/follow.ts'
import { shownId } from '../../ids.ts'
import { visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { failureText, hasFailures } from './failures.ts'

/** The exit code: a failure where the evaluation failed, or where something has no place. */
export async function followEvaluation(
  client: ApiClient,
  id: string,
  { flags, terminal }: Pick<Call, 'flags' | 'terminal'>,
): Promise<number> {
  const idOf = (whole: string): string => shownId(whole, flags.has('verbose'))
  const say = (line: string): void => terminal.out(`${visible(line)}\n`)
  const end = await followPath(client, { path: `/v1/evaluation/${id}` }, (evaluation) => {
    if (!['pending', 'blocked'].includes(textOf(evaluation, 'Status'))) return evaluation
    const about = `${textOf(evaluation, 'TriggeredBy')} of job ${quoted(evaluation, 'JobID')}`
    say(`Evaluation ${idOf(id)}: ${about}, ${textOf(evaluation, 'Status')}`)
    return null
  })
  for (const line of await placements(client, end, idOf)) say(line)
  const isPlaced = !hasFailures(end)
  const status = textOf(end, 'Status')
  const description = textOf(end, 'StatusDescription')
  const about = `${description === '' ? '' : ` (${description})`}${isPlaced ? '' : ', but not all have a place'}`
  say(`Evaluation ${idOf(id)}: ${status}${about}`)
  terminal.out(failureText(end))
  const blocked = textOf(end, 'BlockedEval')
  if (blocked !== '') say(`Evaluation ${idOf(blocked)} waits until there is room for the rest`)
  return isPlaced && status !== 'failed' ? exits.ok : exits.failed
}

/** A line for each allocation that the evaluation placed or changed. */
async function placements(
  client: ApiClient,
  evaluation: JsonObject,
  idOf: (id: string) => string,
): Promise<readonly string[]> {
  const path = `/v1/evaluation/${textOf(evaluation, 'ID')}/allocations`
  const { json } = await askPatiently(client, path)
  const from = BigInt(integerOf(evaluation, 'CreateIndex'))
  return listOf(json)
    .map(objectOf)
    .map((row) => {
      const verb = BigInt(integerOf(row, 'CreateIndex')) > from ? 'placed' : 'changed'
      const where = `node ${quoted(row, 'NodeName')}, group ${quoted(row, 'TaskGroup')}`
      return `Allocation ${idOf(textOf(row, 'ID'))} ${verb}: ${where}`
    })
}

function quoted(row: JsonObject, name: string): string {
  return JSON.stringify(textOf(row, name))
}
