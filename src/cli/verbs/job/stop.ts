/** `muster job stop`. */
import { agrees } from '../../agreement.ts'
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag, misused } from '../../flags.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { detachFlags, evalPriorityFlag, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobStop: Verb = {
  operands: oneOperand('JOB'),
  about: `
Stops all allocations of a job, and follows the evaluation to its end. The job is kept with its
versions, and runs again with the next job run; -purge forgets it. Where only the front of the id
is given, it asks first.
`,
  flags: {
    purge: { summary: 'Forget the job', value: null },
    'no-shutdown-delay': {
      summary: 'End its tasks without their shutdown_delay',
      value: null,
    },
    'eval-priority': evalPriorityFlag,
    yes: { summary: 'Do not ask', value: null },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const [given = ''] = call.operands
    const evalPriority = countFlag(flags, 'eval-priority', 1)
    const client = await ApiClient.open(call)
    const { id, namespace, isWhole } = await findJob(client, given)
    const name = JSON.stringify(id)
    const word = flags.has('purge') ? 'purge' : 'stop'
    if (!isWhole && !flags.has('yes')) {
      if (!terminal.inIsTerminal) misused(`the job is ${name}: give its whole id, or -yes`)
      if (!(await agrees(terminal, `${word} job ${name}?`))) {
        terminal.err('Nothing was changed\n')
        return exits.failed
      }
    }
    const { json } = await client.ask('DELETE', jobPath(id), {
      search: {
        namespace,
        purge: String(flags.has('purge')),
        eval_priority: evalPriority?.toString() ?? null,
        no_shutdown_delay: flags.has('no-shutdown-delay') ? 'true' : null,
      },
    })
    terminal.out(`${flags.has('purge') ? 'Purged' : 'Stopped'} job ${name}\n`)
    return evaluationIn(objectOf(json), client, call)
  },
}
