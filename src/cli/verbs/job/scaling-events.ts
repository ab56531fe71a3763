/** `muster job scaling-events`. */
import { flagOf, integerOf, listOf, membersOf, objectOf, textOf, timeOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findJob, jobPath } from './find.ts'

export const jobScalingEvents: Verb = {
  operands: oneOperand('JOB'),
  about: `
Lists what was asked of the counts of the groups of a job, the newest first, with why.
`,
  flags: { ...formatFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const { id, namespace } = await findJob(client, given)
    const json = await client.get(jobPath(id, '/scale'), { namespace })
    const events = membersOf(objectOf(json), 'TaskGroups')
      .flatMap(([group, status]) =>
        listOf(status['Events']).map((event) => ({ group, event: objectOf(event) })),
      )
      .toSorted(
        (a, b) =>
          Number(integerOf(b.event, 'CreateIndex')) - Number(integerOf(a.event, 'CreateIndex')),
      )
    await show(call, json, (style) =>
      events.length === 0
        ? 'No scaling events\n'
        : table(
            style,
            ['Group', 'Count', 'Previous', 'Error', 'Time', 'Message'],
            events.map(({ group, event }) => [
              group,
              countText(event),
              integerOf(event, 'PreviousCount'),
              String(flagOf(event, 'Error')),
              timeOf(event, 'Time'),
              textOf(event, 'Message'),
            ]),
          ),
    )
    return exits.ok
  },
}

function countText(event: JsonObject): string {
  return event['Count'] === null ? '-' : integerOf(event, 'Count')
}
