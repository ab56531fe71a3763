/** Reads of evaluations over HTTP. */
import t from 'tap'
import { completed, jobWith } from '../jobs/job-drafts.ts'
import { nowMs, register } from '../jobs/registered.ts'
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

void t.test('a filter may name all fields, and none is listed backwards', async (t) => {
  const server = await serverOfOne(t)
  await register(server, completed(jobWith({ Meta: { team: 'a' } })))
  const read = async (path: string) => {
    const answer = await server.ask('GET', path)
    return answer.status === 200 ? (answer.json() as readonly object[]) : answer.body
  }
  const none = ['DeploymentID', 'NextEval', 'PreviousEval', 'BlockedEval', 'NodeID']
  const filters = {
    evaluations: [
      ...none.map((name) => `${name} == ""`),
      'NodeModifyIndex == 0 and JobModifyIndex != 0',
      `CreateTime == ${nowMs}000000 and ModifyTime == ${nowMs}000000`,
      'WaitUntil matches "^0001"',
    ],
    jobs: [
      'dc1 in Datacenters and Meta.team == a and StatusDescription == ""',
      `SubmitTime == ${nowMs}000000`,
    ],
    deployments: [
      'JobModifyIndex != 0 or JobSpecModifyIndex != 0 or JobCreateIndex != 0',
      'IsMultiregion == false and CreateTime != 0 and ModifyTime != 0',
    ],
  }
  for (const [list, each] of Object.entries(filters)) {
    const filter = encodeURIComponent(each.join(' and '))
    const rows = await read(`/v1/${list}?filter=${filter}`)
    t.equal(rows.length, list === 'deployments' ? 0 : 1, list)
  }
  for (const list of ['evaluations', 'allocations', 'jobs', 'deployments']) {
    t.match(await read(`/v1/${list}?reverse=true`), /^reverse=true is not supported/, list)
    t.type(await read(`/v1/${list}?reverse=false`), Array, list)
  }
  t.match(await read('/v1/jobs?meta=true'), [{ ID: 'web', Meta: { team: 'a' } }])
  t.notOk('Meta' in (((await read('/v1/jobs'))[0] ?? {}) as object))
})
