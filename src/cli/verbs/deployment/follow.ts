/** Follows a deployment to its end. */
import { delay } from '../../../lib/async.ts'
import { systemClock } from '../../../lib/clock.ts'
import { countOf, integerOf, membersOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { Servers } from '../../api/servers.ts'
import { shortId } from '../../ids.ts'
import { visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { deploymentPath } from './find.ts'

const waitedSeconds = 60
/** Beyond the wait, for servers that are between two leaders. */
const patienceMs = 30_000
/** Where a server does not wait for a change. */
const pauseMs = 1_000

/** A failure where it does not end well; one that waits for its operator ends the command, and is none. */
export async function followDeployment(
  client: ApiClient,
  id: string,
  { flags, terminal }: Pick<Call, 'flags' | 'terminal'>,
): Promise<number> {
  const servers = new Servers([client], systemClock)
  const shown = flags.has('verbose') ? id : shortId(id)
  let index = '0'
  let said = ''
  for (;;) {
    const search = index === '0' ? {} : { index, wait: `${waitedSeconds}s` }
    const row = objectOf(await read(servers, deploymentPath(id), search))
    const status = textOf(row, 'Status')
    const isOver = status !== 'running'
    const text = isOver || waitsForOperator(row) ? textOf(row, 'StatusDescription') : status
    const line = `Deployment ${shown}: ${text}${isOver ? '' : progressOf(row)}`
    if (line !== said) terminal.out(`${visible(line)}\n`)
    said = line
    if (isOver) return status === 'successful' ? exits.ok : exits.failed
    if (waitsForOperator(row)) {
      terminal.out(`Go on with muster deployment promote ${visible(shown)}\n`)
      return exits.ok
    }
    const before = index
    index = integerOf(row, 'ModifyIndex')
    if (index === before) await delay(systemClock, pauseMs)
  }
}

/** Its canaries are healthy, and it is for someone to say that they are good. */
function waitsForOperator(row: JsonObject): boolean {
  const groups = membersOf(row, 'TaskGroups')
    .map(([, group]) => group)
    .filter((group) => countOf(group, 'DesiredCanaries') > 0 && group['Promoted'] !== true)
  return (
    groups.some((group) => group['AutoPromote'] !== true) &&
    groups.every((group) => countOf(group, 'HealthyAllocs') >= countOf(group, 'DesiredCanaries'))
  )
}

function progressOf(row: JsonObject): string {
  return membersOf(row, 'TaskGroups')
    .map(([name, group]) => {
      const counts = `${countOf(group, 'HealthyAllocs')} of ${countOf(group, 'DesiredTotal')} healthy`
      return `, group ${JSON.stringify(name)}: ${counts}`
    })
    .join('')
}

async function read(
  servers: Servers,
  path: string,
  search: Readonly<Record<string, string>>,
): Promise<Json> {
  const signal = AbortSignal.timeout(waitedSeconds * 1_000 + patienceMs)
  return (await servers.ask('GET', path, { search, signal })).json
}
