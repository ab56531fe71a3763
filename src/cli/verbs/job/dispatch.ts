/** `muster job dispatch`. */
import { objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag } from '../../flags.ts'
import { pairsOfFlag } from '../../items.ts'
import { Sources } from '../../source.ts'
import type { Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from './evaluation.ts'
import { findJob, jobPath } from './find.ts'

export const jobDispatch: Verb = {
  operands: { usage: 'JOB [FILE|-]', countMin: 1, countMax: 2 },
  about: `
Starts a job of a parameterized one, and follows its evaluation to its end. The payload is the file,
or standard input for -. The new job has an id of its own, which is printed.
`,
  flags: {
    meta: { summary: 'A value for the job; repeatable', value: 'KEY=VALUE' },
    'id-prefix-template': {
      summary: 'Goes before the time in the id of the new job',
      value: 'TEXT',
    },
    priority: {
      summary: 'Of the new job, 1 to 100; unless given that of the parameterized one',
      value: 'PRIORITY',
    },
    'idempotency-token': {
      summary: 'A later dispatch with the same one starts nothing',
      value: 'TOKEN',
    },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal, operands } = call
    const [given = '', file] = operands
    const priority = countFlag(flags, 'priority', 1)
    const meta = pairsOfFlag(flags, 'meta')
    const payload =
      file === undefined ? null : await new Sources(terminal).bytes(file, 'the payload')
    const client = await ApiClient.open(call)
    const { id, namespace } = await findJob(client, given)
    const prefix = flags.last('id-prefix-template')
    const { json } = await client.ask('PUT', jobPath(id, '/dispatch'), {
      search: { namespace, idempotency_token: flags.last('idempotency-token') },
      json: {
        Meta: Object.fromEntries(meta),
        ...(payload !== null && { Payload: payload.toString('base64') }),
        ...(prefix !== undefined && { IdPrefixTemplate: prefix }),
        ...(priority !== undefined && { Priority: priority }),
      },
    })
    const answer = objectOf(json)
    terminal.out(`Dispatched job ${JSON.stringify(textOf(answer, 'DispatchedJobID'))}\n`)
    return evaluationIn(answer, client, call)
  },
}
