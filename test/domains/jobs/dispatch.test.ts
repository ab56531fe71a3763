/** Parameterized jobs: they run nothing themselves, and start a job with each dispatch. */
import t, { type Test } from 'tap'
import { evaluationById } from '../../../src/domains/evaluations/queries.ts'
import { jobOf, newestVersionOf } from '../../../src/domains/jobs/queries.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'
import { guarded } from './guarded.ts'
import { jobWith, type Json } from './job-drafts.ts'

const encode = jobWith({
  ID: 'encode',
  Type: 'batch',
  Meta: { quality: 'low', site: 'a' },
  ParameterizedJob: { MetaRequired: ['input'], MetaOptional: ['quality'] },
})

type Dispatched = {
  readonly DispatchedJobID: string
  readonly EvalID: string
  readonly EvalCreateIndex: number
  readonly JobCreateIndex: number
  readonly Index: number
}

async function registered(t: Test, job: Json = encode) {
  const server = await serverOfOne(t)
  const answer = await server.ask('PUT', '/v1/jobs', { Job: job })
  t.equal(answer.status, 200, answer.body)
  t.match(answer.json(), { EvalID: '', EvalCreateIndex: 0 }, 'it has nothing to evaluate')
  return {
    server,
    dispatch: (body: Json, query = '') =>
      server.ask('PUT', `/v1/job/encode/dispatch${query}`, body),
  }
}

async function read(server: ServerOfOne, path: string): Promise<Json> {
  return (await server.ask('GET', path)).json() as Json
}

t.test('a dispatch starts a job with its meta and its payload', async (t) => {
  const { server, dispatch } = await registered(t)
  t.match(await read(server, '/v1/job/encode'), { Status: 'running', ParentID: '' })
  const Payload = Buffer.from('hello').toString('base64')
  const answer = await dispatch({ Payload, Meta: { input: 'x.avi', quality: 'high' } })
  t.equal(answer.status, 200, answer.body)
  const started = answer.json() as Dispatched
  t.match(started.DispatchedJobID, /^encode\/dispatch-\d{10}-[0-9a-f]{8}$/)
  t.equal(started.EvalCreateIndex, started.Index)
  t.equal(started.JobCreateIndex, started.Index)
  t.match(evaluationById(server.machine.reader(), started.EvalID), {
    jobId: started.DispatchedJobID,
    triggeredBy: 'job-register',
    status: 'pending',
  })
  const path = `/v1/job/${encodeURIComponent(started.DispatchedJobID)}`
  t.match(await read(server, path), {
    ID: started.DispatchedJobID,
    Name: started.DispatchedJobID,
    ParentID: 'encode',
    Dispatched: true,
    Payload,
    Meta: { input: 'x.avi', quality: 'high', site: 'a' },
    Status: 'pending',
    Version: 0,
  })
  const list = (await server.ask('GET', '/v1/jobs?filter=ParentID+==+encode')).json()
  t.match(list, [{ ID: started.DispatchedJobID, ParentID: 'encode' }])
})

t.test('the job counts those that it started, by their status', async (t) => {
  const { server, dispatch } = await registered(t)
  const ids: string[] = []
  for (const input of ['a', 'b']) {
    ids.push(((await dispatch({ Meta: { input } })).json() as Dispatched).DispatchedJobID)
  }
  const children = async () => (await read(server, '/v1/job/encode/summary'))['Children']
  t.same(await children(), { Pending: 2, Running: 0, Dead: 0 })
  await server.ask('DELETE', `/v1/job/${encodeURIComponent(ids[0] ?? '')}?purge=true`)
  t.same(await children(), { Pending: 1, Running: 0, Dead: 0 })

  await server.ask('DELETE', '/v1/job/encode?purge=true')
  await server.ask('PUT', '/v1/jobs', { Job: encode })
  t.same(await children(), { Pending: 0, Running: 0, Dead: 0 }, 'another job of the same id')
  await server.ask('DELETE', `/v1/job/${encodeURIComponent(ids[1] ?? '')}?purge=true`)
  t.same(await children(), { Pending: 0, Running: 0, Dead: 0 })
})

t.test('a token starts one job, however often it is sent', async (t) => {
  const { dispatch } = await registered(t)
  const once = async (token: string) =>
    (await dispatch({ Meta: { input: 'x' } }, `?idempotency_token=${token}`)).json() as Dispatched
  const first = await once('a')
  const again = await once('a')
  t.equal(again.DispatchedJobID, first.DispatchedJobID)
  t.equal(again.EvalID, '')
  t.not((await once('b')).DispatchedJobID, first.DispatchedJobID)
})

t.test('the prefix of an id stands before its time', async (t) => {
  const { dispatch } = await registered(t)
  const answer = await dispatch({ Meta: { input: 'x' }, IdPrefixTemplate: 'night' })
  const { DispatchedJobID } = answer.json() as Dispatched
  t.match(DispatchedJobID, /^encode\/dispatch-night-\d{10}-[0-9a-f]{8}$/)
})

const input = { input: 'x' }
const big = Buffer.alloc(16_385).toString('base64')

const wrong: readonly (readonly [payload: string, body: Json, status: number, text: RegExp])[] = [
  ['optional', {}, 400, /Meta lacks what the job requires: "input"/],
  [
    'optional',
    { Meta: { ...input, x: '1' } },
    400,
    /does not take: "x"; it takes "input", "quality"/,
  ],
  ['optional', { Meta: input, Payload: '%' }, 400, /Payload must be base64/],
  ['optional', { Meta: input, Payload: big }, 400, /at most 16384 are possible/],
  ['optional', { Meta: { input: 'x'.repeat(16_385) } }, 413, /Meta has/],
  ['optional', { Meta: input, IdPrefixTemplate: 'a/b' }, 400, /IdPrefixTemplate may have/],
  ['required', { Meta: input }, 400, /Payload is required/],
  ['forbidden', { Meta: input, Payload: 'eA==' }, 400, /Payload is forbidden/],
]

for (const [payload, body, status, text] of wrong) {
  t.test(`refused: ${text.source} (${payload})`, async (t) => {
    const ParameterizedJob = {
      Payload: payload,
      MetaRequired: ['input'],
      MetaOptional: ['quality'],
    }
    const { dispatch } = await registered(t, { ...encode, ParameterizedJob })
    const answer = await dispatch(body)
    t.equal(answer.status, status, answer.body)
    t.match(answer.body, text)
  })
}

t.test('only a parameterized job that is not stopped is dispatched', async (t) => {
  const { server, dispatch } = await registered(t)
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() })
  t.match(await server.ask('PUT', '/v1/job/web/dispatch', {}), {
    status: 400,
    body: /"web" is not parameterized/,
  })
  t.equal((await server.ask('PUT', '/v1/job/none/dispatch', {})).status, 404)
  const stopped = await server.ask('DELETE', '/v1/job/encode')
  t.match(stopped.json(), { EvalID: '' })
  t.match(await read(server, '/v1/job/encode'), { Status: 'dead', Stop: true })
  t.match(await dispatch({ Meta: input }), { status: 400, body: /"encode" is stopped/ })
})

t.test('a job does not become parameterized, nor the other way round', async (t) => {
  const { server } = await registered(t)
  const plain = { ...encode, ParameterizedJob: null }
  const answer = await server.ask('PUT', '/v1/jobs', { Job: plain })
  t.match(answer, { status: 400, body: /"encode" is parameterized, and stays so/ })
})

t.test('a dispatched job that is registered anew stays one', async (t) => {
  const { server, dispatch } = await registered(t)
  const { DispatchedJobID: id } = (
    await dispatch({ Meta: input, Payload: 'eA==' })
  ).json() as Dispatched
  const job = await read(server, `/v1/job/${encodeURIComponent(id)}`)
  const again = await server.ask('PUT', '/v1/jobs', { Job: { ...job, Priority: 70 } })
  t.match(again.json(), { EvalID: /./ })
  const reader = server.machine.reader()
  const row = jobOf(reader, 'default', id)
  t.match(row, { version: 1, template: false, parent: { id: 'encode', dispatched: true } })
  t.equal(row === null ? '' : newestVersionOf(reader, row)?.payload, 'eA==')
})

t.test('a job does not become periodic beside, nor is it so no more', async (t) => {
  const { server } = await registered(t)
  const Periodic = { Spec: '@daily' }
  t.match(await server.ask('PUT', '/v1/jobs', { Job: { ...encode, Periodic } }), {
    status: 400,
    body: /"encode" is parameterized, and stays so/,
  })
  await server.ask('DELETE', '/v1/job/encode?purge=true')
  t.match(await server.ask('PUT', '/v1/jobs', { Job: { ...encode, Periodic } }), { status: 200 })
  t.match(await server.ask('PUT', '/v1/jobs', { Job: encode }), {
    status: 400,
    body: /"encode" is periodic and parameterized, and stays so/,
  })
})

t.test('ids leave room for those of the jobs that are started', async (t) => {
  const { server } = await registered(t)
  const Periodic = { Spec: '@daily' }
  const statusOf = async (length: number, more: Json) => {
    const job = { ...encode, ID: 'x'.repeat(length), ...more }
    return (await server.ask('PUT', '/v1/jobs', { Job: job })).status
  }
  t.equal(await statusOf(162, {}), 200)
  t.equal(await statusOf(163, {}), 400)
  t.equal(await statusOf(142, { Periodic }), 200)
  t.equal(await statusOf(143, { Periodic }), 400)
  const long = `/v1/job/${'x'.repeat(142)}/dispatch`
  const answer = await server.ask('PUT', long, { Meta: input, IdPrefixTemplate: 'y'.repeat(64) })
  t.equal(answer.status, 200, answer.body)
})

t.test('the right is dispatch-job', async (t) => {
  const { server, admin, tokenWith } = await guarded(t)
  await server.ask('PUT', '/v1/jobs', { Job: encode }, admin)
  for (const [capability, status] of [
    ['dispatch-job', 200],
    ['submit-job', 403],
    ['read-job', 403],
  ] as const) {
    const token = await tokenWith(capability)
    const answer = await server.ask('PUT', '/v1/job/encode/dispatch', { Meta: input }, token)
    t.equal(answer.status, status, capability)
  }
})
