/** `muster job scale`. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag, misused } from '../../flags.ts'
import type { Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobScale: Verb = {
  operands: { usage: 'JOB [GROUP] COUNT', countMin: 2, countMax: 3 },
  about: `
Changes the count of a group, which may be left out where the job has one group only, and follows
the evaluation to its end. It is a new version of the job.
`,
  flags: {
    message: { summary: 'Why: kept in job scaling-events', value: 'TEXT' },
    'check-index': {
      summary: 'Only if the job is still at this JobModifyIndex',
      value: 'INDEX',
    },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [given = ''] = operands
    const count = operands.at(-1) ?? ''
    if (!/^\d{1,10}$/.test(count)) misused(`COUNT is a number, not ${JSON.stringify(count)}`)
    const index = countFlag(flags, 'check-index', 1)
    const client = await ApiClient.open(call)
    const { id, namespace, job } = await findJob(client, given)
    const group = operands.length === 3 ? (operands[1] ?? '') : theOnlyGroup(id, job)
    const { json } = await client.ask('PUT', jobPath(id, '/scale'), {
      search: { namespace },
      json: {
        Count: Number(count),
        Target: { Namespace: namespace, Job: id, Group: group },
        Message: flags.last('message') ?? 'scaled by hand',
        ...(index !== undefined && { EnforceIndex: true, JobModifyIndex: index }),
      },
    })
    terminal.out(`Scaled group ${JSON.stringify(group)} of job ${JSON.stringify(id)} to ${count}\n`)
    return evaluationIn(objectOf(json), client, call)
  },
}

function theOnlyGroup(id: string, job: JsonObject): string {
  const groups = listOf(job['TaskGroups']).map((group) => textOf(objectOf(group), 'Name'))
  const [only, ...others] = groups
  if (only !== undefined && others.length === 0) return only
  return misused(`job ${JSON.stringify(id)} has several groups; name one: ${groups.join(', ')}`)
}
