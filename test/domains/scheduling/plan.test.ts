/** A dry run: what a registration would do, with nothing written. */
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { workloadsOfServer } from './planned.ts'
import { guarded } from '../jobs/guarded.ts'
import { jobWith, type Json } from '../jobs/job-drafts.ts'

type Plan = {
  readonly Annotations: { readonly DesiredTGUpdates: Readonly<Record<string, Json>> }
  readonly FailedTGAllocs: Json | null
  readonly JobModifyIndex: number
  readonly CreatedEvals: readonly Json[] | null
  readonly Diff: Json | null
  readonly NextPeriodicLaunch: string
  readonly Warnings: string
}

const task = { Driver: 'mock_driver' }
const web = (group: Json = {}, more: Json = {}, own: Json = {}) =>
  jobWith({ ...own }, group, { ...task, ...more })

async function planning(t: Test) {
  const { server, here } = await workloadsOfServer(t)
  const before = () => server.machine.appliedIndex
  return {
    server,
    here,
    plan: async (Job: Json, Diff = true): Promise<Plan> => {
      const index = before()
      const answer = await server.ask('PUT', '/v1/job/web/plan', { Job, Diff })
      t.equal(answer.status, 200, answer.body)
      t.equal(before(), index, 'nothing is written')
      return answer.json() as Plan
    },
  }
}

t.test('a new job: what it would place, and what has no place', async (t) => {
  const { here, plan } = await planning(t)
  t.match(await plan(web({ Count: 2 })), {
    Annotations: { DesiredTGUpdates: { g: { Place: 2, Ignore: 0, Stop: 0 } } },
    FailedTGAllocs: { g: { CoalescedFailures: 1 } },
    CreatedEvals: [{ Status: 'blocked', TriggeredBy: 'queued-allocs' }],
    JobModifyIndex: 0,
    Diff: { Type: 'Added', ID: 'web', TaskGroups: [{ Type: 'Added', Name: 'g' }] },
    NextPeriodicLaunch: '0001-01-01T00:00:00Z',
  })
  await here.node(1, { drivers: here.drivers })
  const { FailedTGAllocs, CreatedEvals, Diff } = await plan(web({ Count: 2 }), false)
  t.same([FailedTGAllocs, CreatedEvals, Diff], [null, null, null])
})

t.test('a job that was stopped would start again', async (t) => {
  const { server, here, plan } = await planning(t)
  await here.node(1, { drivers: here.drivers })
  await here.run(web({ Count: 1 }), 1)
  t.match((await plan(web({ Count: 1 }))).Diff, { Type: 'None' })
  await server.ask('DELETE', '/v1/job/web')
  await eventuallyTrue('its evaluations are over', async () => {
    const rows = (await server.ask('GET', '/v1/job/web/evaluations')).json()
    return (rows as readonly { Status: string }[]).every(({ Status }) => Status === 'complete')
  })
  t.match((await plan(web({ Count: 1 }))).Diff, {
    Type: 'Edited',
    Fields: [{ Type: 'Edited', Name: 'Stop', Old: 'true', New: 'false' }],
  })
})

t.test('a job that runs: what stays, changes in place, is replaced or stopped', async (t) => {
  const { server, here, plan } = await planning(t)
  await here.node(1, { drivers: here.drivers })
  await here.run(web({ Count: 2 }), 2)
  const desired = async (job: Json) => (await plan(job)).Annotations.DesiredTGUpdates['g']
  t.match(await desired(web({ Count: 2 })), { Ignore: 2, Place: 0, InPlaceUpdate: 0 })
  t.match(await desired(web({ Count: 3 })), { InPlaceUpdate: 2, Place: 1 })
  t.match(await desired(web({ Count: 1 })), { Stop: 1 })
  t.match(await desired(web({ Count: 2 }, { KillTimeout: 9e9 })), { InPlaceUpdate: 2 })
  t.match(await desired(web({ Count: 2 }, { Env: { A: 'b' } })), { DestructiveUpdate: 1 })
  const { Diff, JobModifyIndex } = await plan(web({ Count: 3 }, { Env: { A: 'b' } }))
  t.match(Diff, {
    Type: 'Edited',
    Fields: [],
    TaskGroups: [
      {
        Type: 'Edited',
        Name: 'g',
        Fields: [
          { Type: 'Edited', Name: 'Count', Old: '2', New: '3', Annotations: ['forces create'] },
        ],
        Tasks: [
          {
            Type: 'Edited',
            Name: 't',
            Fields: [{ Type: 'Added', Name: 'Env[A]', Old: '', New: 'b' }],
            // Once the new one is healthy, which comes first.
            Annotations: ['forces create/destroy update'],
          },
        ],
        Updates: { create: 1, ignore: 2 },
      },
    ],
  })
  const changed = await plan(web({ Count: 2 }, { Env: { A: 'b' } }))
  t.match(changed.Diff, {
    TaskGroups: [
      {
        Tasks: [{ Name: 't', Annotations: ['forces create/destroy update'] }],
        Updates: { ignore: 1, 'create/destroy update': 1 },
      },
    ],
  })
  const Update = { Canary: 1, MaxParallel: 1 }
  const canary = await plan(web({ Count: 2, Update }, { Env: { A: 'b' } }))
  t.match(canary.Diff, {
    Fields: [],
    TaskGroups: [
      {
        Objects: [{ Name: 'Update', Fields: [{ Name: 'Canary', Old: '0', New: '1' }] }],
        Tasks: [{ Name: 't', Annotations: ['forces create/destroy update'] }],
        Updates: { ignore: 2, canary: 1 },
      },
    ],
  })
  const inPlace = await plan(web({ Count: 2 }, { KillTimeout: 9e9, Services: [{ Name: 's' }] }))
  t.match(inPlace.Diff, {
    TaskGroups: [{ Tasks: [{ Name: 't', Annotations: ['forces in-place update'] }] }],
  })
  const job = (await server.ask('GET', '/v1/job/web')).json() as Json
  t.equal(JobModifyIndex, job['JobModifyIndex'])
})

t.test('a periodic job places nothing, and says when it starts', async (t) => {
  const { plan } = await planning(t)
  const Periodic = { Spec: '0 0 1 1 *' }
  const planned = await plan(web({}, {}, { Type: 'batch', Periodic }))
  t.same(planned.Annotations.DesiredTGUpdates, {})
  t.match(planned.NextPeriodicLaunch, /^\d{4}-01-01T00:00:00/)
})

t.test('what cannot be registered cannot be planned', async (t) => {
  const { server } = await planning(t)
  const refused = async (Job: Json) => (await server.ask('PUT', '/v1/job/web/plan', { Job })).status
  t.equal(await refused(web({ Count: -1 })), 400)
  t.equal(await refused(web({}, {}, { ID: 'other' })), 400)
  t.equal(await refused(web({}, {}, { Namespace: 'nowhere' })), 400)
  t.equal((await server.ask('PUT', '/v1/job/web/plan', {})).status, 400)
})

t.test('the right is submit-job', async (t) => {
  const { server, tokenWith } = await guarded(t)
  for (const [capability, status] of [
    ['submit-job', 200],
    ['read-job', 403],
  ] as const) {
    const token = await tokenWith(capability)
    const answer = await server.ask('PUT', '/v1/job/web/plan', { Job: web() }, token)
    t.equal(answer.status, status, capability)
  }
})

const small = { cpuMhz: 1_000, memoryMb: 2_048, diskMb: 9_000, networks: [], nodeNetworks: [] }

t.test('what would end for it is shown', async (t) => {
  const { server, here, plan } = await planning(t)
  await here.node(1, { drivers: here.drivers, resources: small })
  const runs = { Resources: { CPU: 400, MemoryMB: 32 } }
  await here.run(web({ Count: 2 }, runs, { ID: 'low', Priority: 10 }), 2)
  const high = web({ Count: 1 }, runs, { Priority: 70 })
  t.match(await plan(high), { Annotations: { PreemptedAllocs: null }, FailedTGAllocs: { g: {} } })
  const preempting = { PreemptionConfig: { ServiceSchedulerEnabled: true } }
  await server.ask('PUT', '/v1/operator/scheduler/configuration', preempting)
  t.match(await plan(high), {
    Annotations: {
      DesiredTGUpdates: { g: { Place: 1, Preemptions: 1 } },
      PreemptedAllocs: [{ JobID: 'low', TaskGroup: 'g' }],
    },
    FailedTGAllocs: null,
  })
})
