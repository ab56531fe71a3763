/** What operators say of one registration, dispatch or stop of a job. */
import t from 'tap'
import { operatorOptionsVersion } from '../../../src/domains/evaluations/model.ts'
import { evaluationById } from '../../../src/domains/evaluations/queries.ts'
import { serverOfOne } from '../server-of-one.ts'
import { jobWith } from './job-drafts.ts'

t.test('a stop without delays is told to the scheduler, once every server knows it', async (t) => {
  const server = await serverOfOne(t, { commandVersion: operatorOptionsVersion - 1 })
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() })
  const stop = (value: string) => server.ask('DELETE', `/v1/job/web?no_shutdown_delay=${value}`)
  const evaluationOf = (answer: { json(): unknown }) => {
    const { EvalID } = answer.json() as { readonly EvalID: string }
    return evaluationById(server.machine.reader(), EvalID)
  }
  t.match(await stop('true'), { status: 501, body: /^no_shutdown_delay is known only once every/ })
  t.notOk(evaluationOf(await stop('false'))?.skipsDelay)
  await server.propose({ type: 'state.raiseVersion', args: { version: operatorOptionsVersion } })
  t.match(evaluationOf(await stop('true')), { triggeredBy: 'job-deregister', skipsDelay: true })
  t.equal((await stop('maybe')).status, 400)
})
