/** `muster job periodic force`. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { oneOperand, type Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobPeriodicForce: Verb = {
  operands: oneOperand('JOB'),
  about: `
Starts a periodic job now, whatever its schedule says, and follows the evaluation to its end. It is
refused where the job prohibits overlaps and an earlier launch runs.
`,
  flags: { ...detachFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const { id, namespace } = await findJob(client, given)
    const { json } = await client.ask('PUT', jobPath(id, '/periodic/force'), {
      search: { namespace },
    })
    call.terminal.out(`Started periodic job ${JSON.stringify(id)}\n`)
    return evaluationIn(objectOf(json), client, call)
  },
}
