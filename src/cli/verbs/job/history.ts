/** `muster job history`: the versions of a job that are kept. */
import { flagOf, integerOf, listOf, objectOf, textOf, timeOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { table } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findJob } from './find.ts'
import { diffText } from './diff.ts'
import { readHistory } from './versions.ts'

export const jobHistory: Verb = {
  operands: oneOperand('JOB'),
  about: `
Lists the versions of a job that are kept, the newest first. A version comes with each change of
the specification; -p shows what it differs in from the one before. job inspect -version shows one
whole.
`,
  flags: {
    p: { summary: 'Show what differs from each version to the next', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const found = await findJob(client, given)
    const withDiffs = call.flags.has('p')
    const { versions, diffs } = await readHistory(client, found, { diffs: withDiffs })
    await show(call, versions, (style) =>
      withDiffs
        ? versions.map((row, at) => blockOf(style, row, diffs[at])).join('\n')
        : rowsOf(style, versions),
    )
    return exits.ok
  },
}

/** `diff`: from the version before it, where that is kept. */
function blockOf(style: Style, version: JsonObject, diff: JsonObject | undefined): string {
  return rowsOf(style, [version]) + (diff === undefined ? '' : diffText(diff))
}

function rowsOf(style: Style, versions: readonly JsonObject[]): string {
  return table(
    style,
    ['Version', 'Stable', 'Stopped', 'Submit Date', 'Groups'],
    versions.map((row) => [
      integerOf(row, 'Version'),
      String(flagOf(row, 'Stable')),
      String(flagOf(row, 'Stop')),
      timeOf(row, 'SubmitTime'),
      groupsOf(row),
    ]),
  )
}

/** `web (3), db (1)` */
function groupsOf(job: JsonObject): string {
  return listOf(job['TaskGroups'])
    .map(objectOf)
    .map((group) => `${textOf(group, 'Name')} (${integerOf(group, 'Count')})`)
    .join(', ')
}
