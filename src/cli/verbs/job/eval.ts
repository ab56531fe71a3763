/** `muster job eval`. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { oneOperand, type Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobEval: Verb = {
  operands: oneOperand('JOB'),
  about: `
Has the scheduler look at a job again, and follows the evaluation to its end. What is as it should
be stays as it is. -force-reschedule needs submit-job.
`,
  flags: {
    'force-reschedule': {
      summary: 'Place failed allocations anew at once, whatever their delays and attempts',
      value: null,
    },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const { id, namespace } = await findJob(client, given)
    const { json } = await client.ask('PUT', jobPath(id, '/evaluate'), {
      search: { namespace },
      json: {
        JobID: id,
        Namespace: namespace,
        ...(call.flags.has('force-reschedule') && { EvalOptions: { ForceReschedule: true } }),
      },
    })
    return evaluationIn(objectOf(json), client, call)
  },
}
