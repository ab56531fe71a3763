/** `muster deployment`, and what other commands say of deployments. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { standIn, type Reply } from './api-stand-in.ts'
import { run } from './terminal.ts'
import { allocation, created, done, evaluated, ids, job, nowMs } from './workloads.ts'

const id = 'd1111111-0000-4000-8000-000000000001'

function deployment(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ID: id,
    Namespace: 'default',
    JobID: 'web',
    JobVersion: 1,
    JobSpecModifyIndex: 10,
    Status: 'running',
    StatusDescription: 'Deployment is running',
    TaskGroups: { web: group() },
    CreateIndex: 12,
    ModifyIndex: 15,
    CreateTime: created,
    ModifyTime: created,
    ...changes,
  }
}

function group(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    AutoRevert: true,
    AutoPromote: false,
    ProgressDeadline: 600_000_000_000,
    RequireProgressBy: '2023-11-14T22:23:20.000Z',
    Promoted: false,
    PlacedCanaries: null,
    DesiredCanaries: 0,
    DesiredTotal: 3,
    PlacedAllocs: 2,
    HealthyAllocs: 1,
    UnhealthyAllocs: 0,
    ...changes,
  }
}

const successful = deployment({
  Status: 'successful',
  StatusDescription: 'Deployment completed successfully',
  ModifyIndex: 17,
})

type Replies = Readonly<Record<string, Reply | readonly Reply[]>>

async function against(t: Test, replies: Replies) {
  const { address, asked } = await standIn(t, {
    'GET /v1/deployments': { json: [deployment()] },
    ...replies,
  })
  return {
    asked,
    muster: (line: string) => run(line.split(' '), { nowMs, env: { MUSTER_ADDR: address } }),
  }
}

t.test('deployments are listed, the newest first', async (t) => {
  const older = deployment({ ID: ids.older, CreateIndex: 5, Status: 'successful' })
  const { muster } = await against(t, {
    'GET /v1/deployments': { json: [older, deployment()] },
  })
  const ran = await muster('deployment list')
  t.match(ran, { code: 0, err: '' })
  t.equal(
    ran.out,
    `ID        Job ID  Job Version  Status      Description
d1111111  web     1            running     Deployment is running
a2222222  web     1            successful  Deployment is running
`,
  )
})

t.test('one is shown with its groups and allocations, by the front of its id', async (t) => {
  const canaries = group({ DesiredCanaries: 1, PlacedCanaries: [ids.allocation] })
  const { muster, asked } = await against(t, {
    [`GET /v1/deployment/${id}`]: { json: deployment({ TaskGroups: { web: canaries } }) },
    [`GET /v1/deployment/allocations/${id}`]: { json: [allocation()] },
  })
  const ran = await muster('deployment status d11')
  t.match(ran, { code: 0, err: '' })
  t.equal(
    ran.out,
    `ID          = d1111111
Job ID      = web
Job Version = 1
Status      = running
Description = Deployment is running

Deployed
Group  Auto Revert  Promoted  Desired Canaries  Placed Canaries  Desired  Placed  Healthy  Unhealthy  Progress Deadline
web    true         false     1                 1                3        2       1        0          2023-11-14T22:23:20Z

Allocations
ID        Node ID   Group  Version  Desired  Status   Created    Modified
a1111111  b1111111  web    1        run      running  3m12s ago  2m12s ago
`,
  )
  t.match(asked[0]?.url, /prefix=d1/)
})

t.test('a job that runs is followed to the end of its deployment', async (t) => {
  const { muster } = await against(t, {
    'POST /v1/jobs/parse': { json: job() },
    'PUT /v1/jobs': evaluated,
    ...done,
    'GET /v1/job/web/deployment': { json: deployment() },
    [`GET /v1/deployment/${id}`]: [{ json: deployment() }, { json: successful }],
  })
  const file = join(t.testdir({ 'web.hcl': 'job "web" {}\n' }), 'web.hcl')
  const ran = await muster(`job run ${file}`)
  t.match(ran, { code: 0, err: '' })
  t.match(
    ran.out,
    `Deployment d1111111: running, group "web": 1 of 3 healthy
Deployment d1111111: Deployment completed successfully
`,
  )
})

t.test('one that fails is exit code 1, one that waits to be promoted says how', async (t) => {
  const failed = deployment({ Status: 'failed', StatusDescription: 'Failed due to it' })
  const waiting = deployment({
    StatusDescription: 'Deployment is running but requires manual promotion',
    TaskGroups: { web: group({ DesiredCanaries: 1 }) },
  })
  const bad = await against(t, { [`GET /v1/deployment/${id}`]: { json: failed } })
  t.match(await bad.muster('deployment status -monitor d11'), {
    code: 1,
    out: 'Deployment d1111111: Failed due to it\n',
  })
  const held = await against(t, { [`GET /v1/deployment/${id}`]: { json: waiting } })
  t.match(await held.muster('deployment status -monitor d11'), {
    code: 0,
    out: /Go on with muster deployment promote d1111111\n$/,
  })
})

t.test('promote, pause, resume and fail say what they do', async (t) => {
  const changed: Reply = {
    json: { EvalID: ids.evaluation, RevertedJobVersion: null, DeploymentModifyIndex: 16 },
  }
  const { muster, asked } = await against(t, {
    ...done,
    [`PUT /v1/deployment/promote/${id}`]: changed,
    [`PUT /v1/deployment/pause/${id}`]: changed,
    [`PUT /v1/deployment/fail/${id}`]: {
      json: { EvalID: ids.evaluation, RevertedJobVersion: 0 },
    },
  })
  const calls = [
    ['deployment promote d11', 'Promoted canaries of deployment', { All: true }],
    ['deployment promote -group web d11', 'Promoted canaries of', { Groups: ['web'] }],
    ['deployment pause d11', 'Paused deployment', { Pause: true }],
    ['deployment resume d11', 'Resumed deployment', { Pause: false }],
    ['deployment fail d11', 'The job goes back to version 0', {}],
  ] as const
  for (const [line, says, body] of calls) {
    const ran = await muster(line)
    t.match(ran, { code: 0, err: '' }, line)
    t.match(ran.out, says, line)
    t.match(ran.out, /Evaluation e1111111: complete\n$/, line)
    const sent: unknown = JSON.parse(
      asked.findLast(({ method }) => method === 'PUT')?.body ?? 'null',
    )
    t.strictSame(sent, { DeploymentID: id, ...body }, line)
  }
})
