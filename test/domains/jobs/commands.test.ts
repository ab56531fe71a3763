/** What entries make of registered jobs. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { evaluationById } from '../../../src/domains/evaluations/queries.ts'
import { specBytesMax, specBytesOf } from '../../../src/domains/jobs/stored-model.ts'
import { jobOf, newestVersionOf, versionOf } from '../../../src/domains/jobs/queries.ts'
import { pack } from '../../../src/fsm/codec.ts'
import { serverOfOne } from '../server-of-one.ts'
import { completed, jobWith } from './job-drafts.ts'
import { deregister, nowMs, register } from './registered.ts'

t.test('a registration makes a job, its version and an evaluation', async (t) => {
  const server = await serverOfOne(t)
  const spec = completed(jobWith())
  const outcome = await register(server, spec)
  if (outcome.type !== 'registered') throw new Error(outcome.type)
  const reader = server.machine.reader()
  const row = jobOf(reader, 'default', 'web')
  t.same(row, outcome.row)
  t.match(row, { version: 0, stop: false, template: false, status: 'pending', submitMs: nowMs })
  t.same(
    row?.groups.map(({ group }) => group),
    ['g'],
  )
  t.match(row === null ? null : newestVersionOf(reader, row), { version: 0, stop: false, spec })
  t.match(evaluationById(reader, outcome.evaluation?.id ?? ''), {
    jobId: 'web',
    triggeredBy: 'job-register',
    status: 'pending',
    jobModifyIndex: row?.jobModifyIndex,
    createIndex: row?.createIndex,
  })
})

t.test('the same job again is one more evaluation, another one is a new version', async (t) => {
  const server = await serverOfOne(t)
  const first = await register(server)
  const again = await register(server)
  if (first.type !== 'registered' || again.type !== 'registered') throw new Error('refused')
  t.same(again.row, first.row, 'the row is as it was')
  t.not(again.evaluation?.id, first.evaluation?.id)
  t.equal(again.evaluation?.jobModifyIndex, first.row.jobModifyIndex)

  const other = await register(server, completed(jobWith({}, { Count: 3 })))
  t.match(other, { type: 'registered', row: { version: 1, createIndex: first.row.createIndex } })
  const reader = server.machine.reader()
  const key = { namespace: 'default', id: 'web', jobCreateIndex: first.row.createIndex }
  t.equal(versionOf(reader, { ...key, version: 0 })?.spec.TaskGroups[0]?.Count, 1)
  t.equal(versionOf(reader, { ...key, version: 1 })?.spec.TaskGroups[0]?.Count, 3)
})

t.test('a registration that expects an index is refused at any other', async (t) => {
  const server = await serverOfOne(t)
  t.same(await register(server, undefined, { enforceIndex: 7 }), {
    type: 'conflict',
    jobModifyIndex: 0,
  })
  const made = await register(server, undefined, { enforceIndex: 0 })
  if (made.type !== 'registered') throw new Error(made.type)
  const { jobModifyIndex } = made.row
  t.same(await register(server, undefined, { enforceIndex: 0 }), {
    type: 'conflict',
    jobModifyIndex,
  })
  t.match(await register(server, undefined, { enforceIndex: jobModifyIndex }), {
    type: 'registered',
  })
})

t.test('a job needs its namespace, and keeps it', async (t) => {
  const server = await serverOfOne(t)
  const spec = { ...completed(jobWith()), Namespace: 'prod' }
  t.same(await register(server, spec), { type: 'unknownNamespace' })
  await server.ask('PUT', '/v1/namespace/prod', {})
  t.match(await register(server, spec), { type: 'registered' })
  const refused = await server.ask('DELETE', '/v1/namespace/prod')
  t.equal(refused.status, 409)
  t.match(refused.body, 'jobs')
})

t.test('a stop is a version of its own, cancels what is blocked, and is undone', async (t) => {
  const server = await serverOfOne(t)
  const made = await register(server)
  if (made.type !== 'registered') throw new Error(made.type)
  t.same(await deregister(server, 'absent'), { type: 'unknown' })
  const stopped = await deregister(server, 'web')
  if (stopped.type !== 'deregistered') throw new Error(stopped.type)
  const reader = server.machine.reader()
  const row = jobOf(reader, 'default', 'web')
  t.match(row, { stop: true, version: 1, jobModifyIndex: stopped.jobModifyIndex })
  t.match(row === null ? null : newestVersionOf(reader, row), { stop: true })
  t.match(stopped.evaluation, { triggeredBy: 'job-deregister', status: 'pending' })
  const again = await deregister(server, 'web')
  t.match(again, { type: 'deregistered', jobModifyIndex: stopped.jobModifyIndex })

  t.match(await register(server), { type: 'registered', row: { stop: false, version: 2 } })
})

t.test('a purge forgets the job at once, and a job of the same name is a new one', async (t) => {
  const server = await serverOfOne(t)
  const made = await register(server)
  if (made.type !== 'registered') throw new Error(made.type)
  t.match(await deregister(server, 'web', { purge: true }), { type: 'deregistered' })
  const reader = server.machine.reader()
  t.equal(jobOf(reader, 'default', 'web'), null)
  t.not(newestVersionOf(reader, made.row), null, 'what its allocations run is still known')
  const anew = await register(server)
  t.match(anew, { type: 'registered', row: { version: 0 } })
  t.ok(anew.type === 'registered' && anew.row.createIndex > made.row.createIndex)
})

t.test('an evaluation on request leaves the job as it is', async (t) => {
  const server = await serverOfOne(t)
  await register(server)
  const before = jobOf(server.machine.reader(), 'default', 'web')
  const args = { namespace: 'default', id: 'web', evaluationId: randomUUID(), nowMs }
  const { outcome } = await server.propose({ type: 'jobs.evaluate', args })
  t.match(outcome, { type: 'evaluated', evaluation: { triggeredBy: 'job-register' } })
  t.same(jobOf(server.machine.reader(), 'default', 'web'), before)
  const absent = { ...args, id: 'absent', evaluationId: randomUUID() }
  const none = await server.propose({ type: 'jobs.evaluate', args: absent })
  t.same(none.outcome, { type: 'unknown' })
})

t.test('what a row cannot hold is known before it is packed', async (t) => {
  const spec = completed(jobWith())
  const config = (Config: unknown) => completed(jobWith({}, {}, { Config }))
  t.ok(specBytesOf(spec) >= pack(spec).byteLength)
  const letters = '\u20ac'.repeat(1_000)
  const texts = config({ a: Array.from({ length: 100 }, () => letters), b: [1.5, true, null] })
  t.ok(specBytesOf(texts) >= pack(texts).byteLength)
  t.ok(specBytesOf(texts) < pack(texts).byteLength * 1.2)
  const large = config({ a: Array.from({ length: 250 }, () => letters) })
  t.ok(pack(large).byteLength > specBytesMax)
  t.equal(specBytesOf(large), Infinity)
  t.equal(specBytesOf(config(JSON.parse('{"__proto__":1}'))), Infinity)
  t.equal(specBytesOf(config({ a: { constructor: 'x' } })), Infinity)
})
