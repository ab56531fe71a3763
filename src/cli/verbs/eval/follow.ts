/** Follows an evaluation to its end, and says what it came to. */
import { delay } from '../../../lib/async.ts'
import { systemClock } from '../../../lib/clock.ts'
import { integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { Servers } from '../../api/servers.ts'
import { shownId } from '../../ids.ts'
import { visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { failureText, hasFailures } from './failures.ts'

const waitedSeconds = 60
/** Beyond the wait, for servers that are between two leaders. */
const patienceMs = 30_000
/** Where a server does not wait for a change. */
const pauseMs = 1_000

/** The exit code: a failure where the evaluation failed, or where something has no place. */
export async function followEvaluation(
  client: ApiClient,
  id: string,
  { flags, terminal }: Pick<Call, 'flags' | 'terminal'>,
): Promise<number> {
  const servers = new Servers([client], systemClock)
  const idOf = (whole: string): string => shownId(whole, flags.has('verbose'))
  const say = (line: string): void => terminal.out(`${visible(line)}\n`)
  const end = await untilOver(servers, id, (evaluation) => {
    const about = `${textOf(evaluation, 'TriggeredBy')} of job ${quoted(evaluation, 'JobID')}`
    say(`Evaluation ${idOf(id)}: ${about}, ${textOf(evaluation, 'Status')}`)
  })
  for (const line of await placements(servers, end, idOf)) say(line)
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

/** Resolves to what it came to; `tell` gets it each time that it has changed before. */
async function untilOver(
  servers: Servers,
  id: string,
  tell: (evaluation: JsonObject) => void,
): Promise<JsonObject> {
  let index = '0'
  for (;;) {
    const search = index === '0' ? {} : { index, wait: `${waitedSeconds}s` }
    const evaluation = objectOf(await read(servers, `/v1/evaluation/${id}`, search))
    if (!['pending', 'blocked'].includes(textOf(evaluation, 'Status'))) return evaluation
    const before = index
    index = integerOf(evaluation, 'ModifyIndex')
    if (index === before) await delay(systemClock, pauseMs)
    else tell(evaluation)
  }
}

/** A line for each allocation that the evaluation placed or changed. */
async function placements(
  servers: Servers,
  evaluation: JsonObject,
  idOf: (id: string) => string,
): Promise<readonly string[]> {
  const path = `/v1/evaluation/${textOf(evaluation, 'ID')}/allocations`
  const json = await read(servers, path, {})
  const from = BigInt(integerOf(evaluation, 'CreateIndex'))
  return listOf(json)
    .map(objectOf)
    .map((row) => {
      const verb = BigInt(integerOf(row, 'CreateIndex')) > from ? 'placed' : 'changed'
      const where = `node ${quoted(row, 'NodeName')}, group ${quoted(row, 'TaskGroup')}`
      return `Allocation ${idOf(textOf(row, 'ID'))} ${verb}: ${where}`
    })
}

async function read(
  servers: Servers,
  path: string,
  search: Readonly<Record<string, string>>,
): Promise<Json> {
  const signal = AbortSignal.timeout(waitedSeconds * 1_000 + patienceMs)
  return (await servers.ask('GET', path, { search, signal })).json
}

function quoted(row: JsonObject, name: string): string {
  return JSON.stringify(textOf(row, name))
}
