/** `muster job history`: the versions of a job that are kept. */
import { flagOf, integerOf, listOf, objectOf, textOf, timeOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findJob } from './find.ts'
import { readVersions } from './versions.ts'

export const jobHistory: Verb = {
  operands: oneOperand('JOB'),
  about: `
Lists the versions of a job that are kept, the newest first. A version comes with each change of
the specification. job inspect -version shows one whole.
`,
  flags: { ...formatFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const versions = await readVersions(client, await findJob(client, given))
    await show(call, versions, (style) =>
      table(
        style,
        ['Version', 'Stable', 'Stopped', 'Submit Date', 'Groups'],
        versions.map((row) => [
          integerOf(row, 'Version'),
          String(flagOf(row, 'Stable')),
          String(flagOf(row, 'Stop')),
          timeOf(row, 'SubmitTime'),
          groupsOf(row),
        ]),
      ),
    )
    return exits.ok
  },
}

/** `web (3), db (1)` */
function groupsOf(job: JsonObject): string {
  return listOf(job['TaskGroups'])
    .map(objectOf)
    .map((group) => `${textOf(group, 'Name')} (${integerOf(group, 'Count')})`)
    .join(', ')
}
