/** `muster alloc stop`. */
import { objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from '../job/evaluation.ts'
import { allocationPath, findAllocation } from './find.ts'

export const allocStop: Verb = {
  operands: oneOperand('ALLOCATION'),
  about: `
Stops an allocation, by its id or the front of it. Its job places another one where it is still
wanted. Follows the evaluation to its end.
`,
  flags: {
    'no-shutdown-delay': { summary: 'End its tasks without their shutdown_delay', value: null },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    const search = { no_shutdown_delay: call.flags.has('no-shutdown-delay') ? 'true' : null }
    const answer = objectOf((await client.ask('PUT', allocationPath(id, '/stop'), { search })).json)
    if (textOf(answer, 'EvalID') === '') {
      call.terminal.err(`Allocation ${JSON.stringify(id)} had ended, or is being stopped\n`)
      return exits.ok
    }
    call.terminal.out(`Stopping allocation ${JSON.stringify(id)}\n`)
    return evaluationIn(answer, client, call)
  },
}
