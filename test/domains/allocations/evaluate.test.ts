/** `PUT /v1/job/:id/evaluate`: a job is looked at again, and what failed of it may be placed anew at once. */
import t, { type Test } from 'tap'
import { operatorOptionsVersion } from '../../../src/domains/evaluations/model.ts'
import type { ServerOfOneOptions } from '../server-of-one.ts'
import { idOf, nowMs, placedOn, served, type Placed } from './workloads.ts'

const [failed, runs, replaced, steady] = [0, 1, 2, 3].map((at) => idOf('allo', at))
const force = { JobID: 'web', EvalOptions: { ForceReschedule: true } }

type Shown = Readonly<Record<string, unknown>>

/** One that failed, one that runs, one that another took the place of, and one of a group that places nothing anew. */
async function withFailed(t: Test, options: ServerOfOneOptions = {}) {
  const { server, here } = await served(t, options)
  const node = await here.node(1)
  const never = { ReschedulePolicy: { Attempts: 0, Unlimited: false } }
  const job = await here.plant('web')
  const once: Placed = await here.plant('once', 'service', never)
  await here.plan(job, { place: [0, 1, 2].map((at) => placedOn(job, node, at)) })
  await here.plan(once, { place: [placedOn(once, node, 3)] })
  const reports = [failed, replaced, steady].map((id) => ({
    node,
    report: { id, clientStatus: 'failed', clientDescription: '', tasks: [], health: null },
  }))
  await here.apply('allocations.reported', { reports, nowMs })
  await here.plan(job, {
    place: [placedOn(job, node, 4, { name: 'web.g[2]', previous: replaced ?? '' })],
  })
  const evaluate = (body: unknown, id = 'web', token?: string) =>
    server.ask('PUT', `/v1/job/${id}/evaluate`, body, token)
  return { server, here, evaluate }
}

void t.test('what failed is marked, and its job is looked at', async (t) => {
  const { server, here, evaluate } = await withFailed(t)
  for (const body of [undefined, {}, null, { JobID: 'web', EvalOptions: {} }]) {
    t.equal((await evaluate(body)).status, 200)
  }
  t.notOk(here.allocation(failed ?? '')?.rescheduleNow, 'nothing is without the option')
  const before = here.allocation(failed ?? '')
  const answer = await evaluate(force)
  t.equal(answer.status, 200, answer.body)
  const { EvalID, Index } = answer.json() as { readonly EvalID: string; readonly Index: number }
  t.match(here.evaluation(EvalID), { triggeredBy: 'job-register', jobId: 'web', status: 'pending' })
  const after = here.allocation(failed ?? '')
  t.match(after, { rescheduleNow: true, modifyMs: before?.modifyMs })
  t.ok((after?.modifyIndex ?? Infinity) < Index)
  for (const id of [runs, replaced]) t.notOk(here.allocation(id ?? '')?.rescheduleNow)
  const { body } = await server.ask('GET', `/v1/allocation/${failed}`)
  t.match(JSON.parse(body), { DesiredTransition: { ForceReschedule: true } })
  t.equal((await evaluate({ ...force, JobID: '' }, 'once')).status, 200)
  t.notOk(here.allocation(steady ?? '')?.rescheduleNow, 'its group places nothing anew')
})

void t.test('what is wrong with the body is said', async (t) => {
  const { evaluate } = await withFailed(t)
  const other = { status: 400, body: 'JobID is "web": it must be that of the path, "once"' }
  t.match(await evaluate(force, 'once'), other)
  t.match(await evaluate({ EvalOptions: { ForceReschedule: 'yes' } }), {
    status: 400,
    body: /EvalOptions\.ForceReschedule must be true or false/,
  })
  t.equal((await evaluate({ ...force, JobID: 'none' }, 'none')).status, 404)
})

void t.test('it takes the right to register jobs', async (t) => {
  const { server, evaluate } = await withFailed(t, { acl: { enabled: true } })
  const root = String(((await server.ask('PUT', '/v1/acl/bootstrap')).json() as Shown)['SecretID'])
  const tokenWith = async (capability: string) => {
    const Rules = `namespace "default" { capabilities = ["read-job", "${capability}"] }`
    await server.ask('PUT', `/v1/acl/policy/${capability}`, { Rules }, root)
    const token = { Policies: [{ Name: capability }] }
    return String(
      ((await server.ask('PUT', '/v1/acl/token', token, root)).json() as Shown)['SecretID'],
    )
  }
  const reader = await tokenWith('list-jobs')
  t.equal((await evaluate({}, 'web', reader)).status, 200)
  t.equal((await evaluate(force, 'web', reader)).status, 403)
  t.equal((await evaluate(force, 'web', await tokenWith('submit-job'))).status, 200)
})

void t.test('it waits until every server knows it', async (t) => {
  const { here, evaluate } = await withFailed(t, { commandVersion: operatorOptionsVersion - 1 })
  t.match(await evaluate(force), {
    status: 501,
    body: /^EvalOptions\.ForceReschedule is known only once every server has this version/,
  })
  t.notOk(here.allocation(failed ?? '')?.rescheduleNow)
  t.equal((await evaluate({})).status, 200)
})
