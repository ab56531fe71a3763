/** The versions of a job over HTTP, and what differs between them. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { jobWith } from './job-drafts.ts'

t.test('neighbouring versions are compared, the newest first', async (t) => {
  const server = await serverOfOne(t)
  const versions = async (query = '?diffs=true') => {
    const answer = await server.ask('GET', `/v1/job/web/versions${query}`)
    t.equal(answer.status, 200, answer.body)
    return answer.json() as { Versions: readonly unknown[]; Diffs: readonly unknown[] | null }
  }
  const put = (job: unknown) => server.ask('PUT', '/v1/jobs', { Job: job })
  await put(jobWith())
  t.match(await versions(), { Versions: [{ Version: 0 }], Diffs: null })
  await put(jobWith({}, { Count: 3 }))
  await put(jobWith({ Priority: 60 }, { Count: 3 }, { User: 'a' }))
  await server.ask('DELETE', '/v1/job/web')
  const { Versions, Diffs } = await versions()
  t.equal(Versions.length, 4)
  t.same(Diffs?.length, 3)
  t.match(Diffs, [
    { Type: 'Edited', Fields: [{ Name: 'Stop', Old: 'false', New: 'true' }], TaskGroups: [] },
    {
      Type: 'Edited',
      ID: 'web',
      Fields: [{ Name: 'Priority', Old: '50', New: '60' }],
      TaskGroups: [
        {
          Name: 'g',
          Tasks: [{ Name: 't', Fields: [{ Name: 'User', New: 'a' }], Annotations: null }],
          Updates: null,
        },
      ],
    },
    { TaskGroups: [{ Name: 'g', Fields: [{ Name: 'Count', Old: '1', New: '3' }], Tasks: [] }] },
  ])
  t.equal((await versions('')).Diffs, null)
  t.equal((await versions('?diffs=false')).Diffs, null)
  t.equal((await server.ask('GET', '/v1/job/web/versions?diffs=x')).status, 400)
})
