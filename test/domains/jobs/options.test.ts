/** What operators say of one registration, dispatch or stop of a job. */
import t from 'tap'
import { operatorOptionsVersion } from '../../../src/domains/evaluations/model.ts'
import { evaluationById } from '../../../src/domains/evaluations/queries.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'
import { jobWith } from './job-drafts.ts'

function evaluationOf(server: ServerOfOne, answer: { json(): unknown }) {
  const { EvalID } = answer.json() as { readonly EvalID: string }
  return evaluationById(server.machine.reader(), EvalID)
}

t.test('a stop without delays is told to the scheduler, once every server knows it', async (t) => {
  const server = await serverOfOne(t, { commandVersion: operatorOptionsVersion - 1 })
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() })
  const stop = (value: string) => server.ask('DELETE', `/v1/job/web?no_shutdown_delay=${value}`)
  t.match(await stop('true'), { status: 501, body: /^no_shutdown_delay is known only once every/ })
  t.notOk(evaluationOf(server, await stop('false'))?.skipsDelay)
  await server.propose({ type: 'state.raiseVersion', args: { version: operatorOptionsVersion } })
  t.match(evaluationOf(server, await stop('true')), {
    triggeredBy: 'job-deregister',
    skipsDelay: true,
  })
  t.equal((await stop('maybe')).status, 400)
})

t.test('an evaluation may have another priority than its job', async (t) => {
  const server = await serverOfOne(t, { commandVersion: operatorOptionsVersion - 1 })
  const register = (EvalPriority: unknown, path = '/v1/jobs') =>
    server.ask('PUT', path, { Job: jobWith(), EvalPriority })
  const stop = (value: string) => server.ask('DELETE', `/v1/job/web?eval_priority=${value}`)
  const later = (name: string) => new RegExp(`^${name} is known only once every server`)
  t.match(await register(90), { status: 501, body: later('EvalPriority') })
  for (const own of [0, 50, null, undefined]) t.equal((await register(own)).status, 200)
  t.match(await stop('90'), { status: 501, body: later('eval_priority') })

  await server.propose({ type: 'state.raiseVersion', args: { version: operatorOptionsVersion } })
  t.match(evaluationOf(server, await register(90)), { priority: 90 })
  t.match(evaluationOf(server, await register(1, '/v1/job/web')), { priority: 1 })
  t.match(evaluationOf(server, await register(0)), { priority: 50 })
  t.match((await server.ask('GET', '/v1/job/web')).json(), { Priority: 50, Version: 0 })
  t.match(evaluationOf(server, await stop('100')), { priority: 100 })
  t.match(evaluationOf(server, await stop('0')), { priority: 50 })
  for (const wrong of [-1, 101, 1.5, '50']) {
    t.match(await register(wrong), { status: 400, body: /^EvalPriority / }, String(wrong))
  }
  for (const wrong of ['-1', '101', 'high']) {
    t.match(await stop(wrong), { status: 400, body: /eval_priority/ }, wrong)
  }
})

t.test('a dispatch may give the job that it starts another priority', async (t) => {
  const server = await serverOfOne(t, { commandVersion: operatorOptionsVersion - 1 })
  const Job = jobWith({ ID: 'encode', Type: 'batch', ParameterizedJob: {} })
  t.equal((await server.ask('PUT', '/v1/jobs', { Job })).status, 200)
  const dispatch = (Priority: unknown) => server.ask('PUT', '/v1/job/encode/dispatch', { Priority })
  const started = async (answer: { json(): unknown }) => {
    const { DispatchedJobID } = answer.json() as { readonly DispatchedJobID: string }
    const id = encodeURIComponent(DispatchedJobID)
    return [
      ((await server.ask('GET', `/v1/job/${id}`)).json() as { Priority: number }).Priority,
      evaluationOf(server, answer)?.priority,
    ]
  }
  t.match(await dispatch(70), { status: 501, body: /^Priority is known only once every server/ })
  for (const own of [50, 0, null]) t.same(await started(await dispatch(own)), [50, 50])
  await server.propose({ type: 'state.raiseVersion', args: { version: operatorOptionsVersion } })
  t.same(await started(await dispatch(70)), [70, 70])
  t.match(await dispatch(101), {
    status: 400,
    body: 'Priority is 101: it must be from 1 to 100, or 0 for that of the job',
  })
  t.match((await server.ask('GET', '/v1/job/encode')).json(), { Priority: 50 })
})
