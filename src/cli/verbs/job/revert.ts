/** `muster job revert`. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import type { Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobRevert: Verb = {
  operands: { usage: 'JOB VERSION', countMin: 2, countMax: 2 },
  about: `
Gives a job a new version that is as an earlier one was, and follows the evaluation to its end.
job history lists the versions.
`,
  flags: { ...detachFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const [given = '', version = ''] = call.operands
    if (!/^\d{1,15}$/.test(version)) misused(`VERSION is a number, not ${JSON.stringify(version)}`)
    const client = await ApiClient.open(call)
    const { id, namespace } = await findJob(client, given)
    const { json } = await client.ask('PUT', jobPath(id, '/revert'), {
      search: { namespace },
      json: { JobID: id, JobVersion: Number(version) },
    })
    call.terminal.out(`Reverted job ${JSON.stringify(id)} to version ${Number(version)}\n`)
    return evaluationIn(objectOf(json), client, call)
  },
}
