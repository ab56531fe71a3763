/** Reads of evaluations over HTTP. */
import t from 'tap'
import { completed, jobWith } from '../jobs/job-drafts.ts'
import { register } from '../jobs/registered.ts'
import { serverOfOne } from '../server-of-one.ts'

void t.test('the evaluations of a job, the oldest first, and of no other', async (t) => {
  const server = await serverOfOne(t)
  const jobs = ['web', 'db', 'web'].map((ID) => completed(jobWith({ ID })))
  for (const spec of jobs) await register(server, spec)
  const read = async (path: string) => (await server.ask('GET', path)).json()
  const rows = (await read('/v1/job/web/evaluations')) as readonly { CreateIndex: number }[]
  t.match(rows, [
    { JobID: 'web', TriggeredBy: 'job-register' },
    { JobID: 'web', TriggeredBy: 'job-register' },
  ])
  const indexes = rows.map(({ CreateIndex }) => CreateIndex)
  t.equal(indexes.length, 2)
  t.strictSame(
    indexes,
    indexes.toSorted((a, b) => a - b),
  )
  t.strictSame(await read('/v1/job/none/evaluations'), [])
  t.strictSame(await read('/v1/job/web/evaluations?namespace=other'), [])
})
