/** Follows a deployment to its end. */
import { countOf, membersOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { followPath } from '../../api/follow.ts'
import { shortId } from '../../ids.ts'
import { visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { deploymentPath } from './find.ts'

/** A failure where it does not end well; one that waits for its operator ends the command, and is none. */
export async function followDeployment(
  client: ApiClient,
  id: string,
  { flags, terminal }: Pick<Call, 'flags' | 'terminal'>,
): Promise<number> {
  const shown = flags.has('verbose') ? id : shortId(id)
  let said = ''
  return followPath(client, { path: deploymentPath(id) }, (row) => {
    const status = textOf(row, 'Status')
    const isOver = status !== 'running'
    const text = isOver || waitsForOperator(row) ? textOf(row, 'StatusDescription') : status
    const line = `Deployment ${shown}: ${text}${isOver ? '' : progressOf(row)}`
    if (line !== said) terminal.out(`${visible(line)}\n`)
    said = line
    if (isOver) return status === 'successful' ? exits.ok : exits.failed
    if (!waitsForOperator(row)) return null
    terminal.out(`Go on with muster deployment promote ${visible(shown)}\n`)
    return exits.ok
  })
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
