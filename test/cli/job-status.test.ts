/** `muster job status`, `inspect` and `history`, and `muster eval`. */
import t, { type Test } from 'tap'
import { standIn, type Reply } from './api-stand-in.ts'
import { run } from './terminal.ts'
import {
  allocation,
  done,
  evaluation,
  evaluationPath,
  ids,
  job,
  metrics,
  nowMs,
  unplaced,
} from './workloads.ts'

async function against(t: Test, replies: Readonly<Record<string, Reply | readonly Reply[]>>) {
  const { address, asked } = await standIn(t, replies)
  return {
    asked,
    muster: (line: string) => run(line.split(' '), { nowMs, env: { MUSTER_ADDR: address } }),
  }
}

const summary = {
  JobID: 'web',
  Namespace: 'default',
  Summary: {
    web: { Queued: 2, Complete: 0, Failed: 1, Running: 1, Starting: 0, Lost: 0, Unknown: 0 },
  },
  CreateIndex: 10,
  ModifyIndex: 15,
}

const whole = {
  'GET /v1/job/web': { json: job() },
  'GET /v1/job/web/summary': { json: summary },
  'GET /v1/job/web/allocations': {
    json: [
      allocation({ ID: ids.older, CreateIndex: 5, DesiredStatus: 'stop', ClientStatus: 'failed' }),
      allocation(),
    ],
  },
  'GET /v1/job/web/evaluations': {
    json: [unplaced, evaluation({ ID: ids.blocked, Status: 'blocked', CreateIndex: 12 })],
  },
}

t.test('jobs are listed', async (t) => {
  const { muster, asked } = await against(t, {
    'GET /v1/jobs': {
      json: [job(), job({ ID: 'old', Status: 'dead', Stop: true, Type: 'batch' })],
    },
  })
  t.equal(
    (await muster('job status')).out,
    `ID   Type     Priority  Status          Submit Date
web  service  50        running         2023-11-14T22:13:20Z
old  batch    50        dead (stopped)  2023-11-14T22:13:20Z
`,
  )
  t.match((await muster('job status -namespace *')).out, /^ID +Namespace +Type.*\nweb +default +s/)
  t.match((await muster('job status -t {{range.}}{{.ID}},{{end}}')).out, 'web,old,\n')
  await muster('job status -filter Type==batch')
  t.match(asked.at(-1), { url: /filter=Type%3D%3Dbatch/ })
  const none = await against(t, { 'GET /v1/jobs': { json: [] } })
  t.match(await none.muster('job status'), { code: 0, out: '', err: 'No jobs found\n' })
})

t.test('one job is shown with its groups, its allocations, and what has no place', async (t) => {
  const { muster, asked } = await against(t, whole)
  const { code, out } = await muster('job status web')
  t.equal(code, 0)
  t.equal(
    out,
    `ID            = web
Name          = web
Namespace     = default
Submit Date   = 2023-11-14T22:13:20Z
Version       = 1
Type          = service
Priority      = 50
Datacenters   = dc1, dc2
Status        = running
Periodic      = false
Parameterized = false

Summary
Group  Queued  Starting  Running  Failed  Complete  Lost  Unknown
web    2       0         1        1       0         0     0

Placement Failures
Group "web": no place for 2 allocations
  * Constraint "missing drivers" rules out 2 nodes
  * 1 node without room: memory

Allocations
ID        Node ID   Group  Version  Desired  Status   Created    Modified
a1111111  b1111111  web    1        run      running  3m12s ago  2m12s ago
a2222222  b1111111  web    1        stop     failed   3m12s ago  2m12s ago
`,
  )
  t.ok(asked.some(({ url }) => url === '/v1/job/web/allocations?namespace=default&all=false'))
  await muster('job status -all-allocs web')
  t.ok(asked.some(({ url }) => url.endsWith('all=true')))
  t.match(
    (await muster('job status -evals web')).out,
    /\nEvaluations\nID +Priority .*\ne1222222 .* blocked +not known yet\ne1111111 .* complete +true\n/,
  )
  const verbose = (await muster('job status -verbose web')).out
  t.match(verbose, new RegExp(`\n${ids.allocation} +${ids.evaluation} +${ids.node} +box `))
  t.match(verbose, /2023-11-14T22:13:20Z +2023-11-14T22:14:20Z\n/)
  t.match(JSON.parse((await muster('job status -json web')).out), {
    Job: { ID: 'web' },
    Summary: summary,
    Allocations: [{ ID: ids.older }, { ID: ids.allocation }],
    Evaluations: [{ ID: ids.evaluation }, { ID: ids.blocked }],
  })
})

t.test('what is placed anew later is shown by group', async (t) => {
  const WaitUntil = new Date(nowMs + 65_000).toISOString()
  const { muster } = await against(t, {
    ...whole,
    'GET /v1/job/web/evaluations': {
      json: [evaluation({ Status: 'pending', WaitUntil }), evaluation({ ID: ids.blocked })],
    },
    'GET /v1/job/web/allocations': {
      json: [
        allocation({ ClientStatus: 'failed', FollowupEvalID: ids.evaluation }),
        allocation({ ID: ids.older, ClientStatus: 'failed', FollowupEvalID: ids.evaluation }),
        allocation({ ClientStatus: 'failed', FollowupEvalID: ids.blocked }),
        allocation({ TaskGroup: 'back', ClientStatus: 'running', FollowupEvalID: ids.evaluation }),
      ],
    },
  })
  const { out } = await muster('job status web')
  const table = 'Group  Eval ID   Eval Time\nweb    e1111111  1m5s from now\n\n'
  t.ok(out.includes(`\nFuture Rescheduling Attempts\n${table}`), out)
  t.ok((await muster('job status -verbose web')).out.includes(`${ids.evaluation}  ${WaitUntil}`))
})

t.test('failures of the past are not shown once nothing waits for room', async (t) => {
  const { muster } = await against(t, {
    ...whole,
    'GET /v1/job/web/evaluations': { json: [unplaced] },
    'GET /v1/job/web/allocations': { json: [] },
  })
  const { out } = await muster('job status web')
  t.notMatch(out, /Placement Failures/)
  t.match(out, /Allocations\nNo allocations placed\n$/)
})

t.test('a job is found by its whole id, else by the front of it', async (t) => {
  const two = [job({ ID: 'web' }), job({ ID: 'web2', Namespace: 'dev' })]
  const { muster } = await against(t, {
    'GET /v1/jobs': { json: two },
    'GET /v1/job/web': { json: job() },
  })
  t.match(JSON.parse((await muster('job inspect web')).out), { Job: { ID: 'web' } })
  t.match(JSON.parse((await muster('job inspect -namespace * web')).out), { Job: { ID: 'web' } })
  t.match(await muster('job inspect we'), {
    code: 1,
    err: /2 jobs have an id that begins with "we": web \(service\), web2 \(service\)/,
  })
  const none = await against(t, { 'GET /v1/jobs': { json: [] } })
  t.match(await none.muster('job inspect x'), { code: 1, err: /no job has an id that begins with/ })
})

t.test('versions are listed, and shown', async (t) => {
  const Versions = [job(), job({ Version: 0, Stop: true, TaskGroups: [] })]
  const { muster } = await against(t, {
    ...whole,
    'GET /v1/job/web/versions': { json: { Versions, Diffs: null } },
  })
  t.equal(
    (await muster('job history web')).out,
    `Version  Stable  Stopped  Submit Date           Groups
1        false   false    2023-11-14T22:13:20Z  web (3)
0        false   true     2023-11-14T22:13:20Z
`,
  )
  t.match(JSON.parse((await muster('job history -json web')).out), Versions)
  t.match(JSON.parse((await muster('job inspect -version 0 web')).out), { Job: { Version: 0 } })
  t.match(await muster('job inspect -version 7 web'), {
    code: 1,
    err: /no version 7; there are 1, 0/,
  })
  t.equal((await muster('job inspect -t {{.ID}} web')).out, 'web\n')
})

t.test('evaluations are listed', async (t) => {
  const { muster, asked } = await against(t, {
    'GET /v1/evaluations': {
      json: [evaluation(), evaluation({ ID: ids.blocked, CreateIndex: 12, Status: 'blocked' })],
      headers: { 'X-Service-NextToken': 'next' },
    },
  })
  const line = 'eval list -job web -status blocked -per-page 2 -page-token e -filter Priority==50'
  t.match(await muster(line), {
    code: 0,
    out: `ID        Priority  Triggered By  Job ID  Node ID  Status    Placement Failures
e1222222  50        job-register  web     <none>   blocked   not known yet
e1111111  50        job-register  web     <none>   complete  false
`,
    err: 'There are more: go on with -page-token next\n',
  })
  t.match(asked[0], {
    url: '/v1/evaluations?job=web&status=blocked&filter=Priority%3D%3D50&per_page=2&next_token=e',
  })
  t.match((await muster('eval list -verbose -namespace *')).out, new RegExp(`\n${ids.evaluation} `))
  const none = await against(t, { 'GET /v1/evaluations': { json: [] } })
  t.match(await none.muster('eval list'), { code: 0, out: '', err: 'No evaluations found\n' })
})

t.test('an evaluation is shown, by the front of its id', async (t) => {
  const { muster, asked } = await against(t, {
    ...done,
    'GET /v1/evaluations': { json: [unplaced] },
    [evaluationPath]: { json: unplaced },
  })
  const { code, out } = await muster('eval status e11')
  t.equal(code, 0)
  t.match(asked[0], { url: '/v1/evaluations?prefix=e1' }, 'whole bytes are asked for')
  t.match(out, /^ID +=.*e1111111\n/)
  t.match(out, /\nBlocked Eval +=.*e1222222\n/)
  t.match(out, /\nFailed Placements\nGroup "web": no place for 2 allocations\n/)
  t.match(out, /\nPlaced Allocations\nID +Node ID .*\na1111111 .* 3m12s ago /)
  t.match(JSON.parse((await muster(`eval status -json ${ids.evaluation}`)).out), unplaced)
  t.match(await muster('eval status -monitor e11'), { code: 1, out: /but not all have a place/ })
  t.match(await muster('eval status xyz'), { code: 1, err: /is no id: those of evaluations have/ })
})

t.test('every reason has its words', async (t) => {
  const reasons = async (changes: Readonly<Record<string, unknown>>): Promise<string> => {
    const FailedTGAllocs = { g: metrics(changes) }
    const { muster } = await against(t, {
      [evaluationPath]: { json: evaluation({ FailedTGAllocs }) },
      [`${evaluationPath}/allocations`]: { json: [] },
    })
    return (await muster(`eval status ${ids.evaluation}`)).out.split('1 allocation\n')[1] ?? ''
  }
  const cases = [
    [{ NodesAvailable: { dc1: 0, dc2: 1 } }, 'Datacenter "dc1" has no node that takes work'],
    [{ ClassFiltered: { big: 2 } }, 'Class "big" rules out 2 nodes'],
    [{ ClassExhausted: { big: 2 } }, '2 nodes of class "big" without room'],
    [{ NodesExhausted: 2 }, '2 nodes without room'],
    [{ NodesEvaluated: 0, NodesAvailable: null }, "No node of the job's datacenters takes work"],
  ] as const
  for (const [changes, text] of cases) t.equal(await reasons(changes), `  * ${text}\n`)
})

t.test('a periodic job shows its next launch and what it started', async (t) => {
  const nightly = job({
    ID: 'nightly',
    Periodic: { Enabled: true, Spec: '0 3 * * *', Specs: [], TimeZone: 'Europe/Berlin' },
  })
  const child = job({ ID: 'nightly/periodic-1', ParentID: 'nightly', Status: 'dead' })
  const { muster } = await against(t, {
    'GET /v1/job/nightly': { json: nightly },
    'GET /v1/job/nightly/summary': {
      json: { Summary: {}, Children: { Pending: 0, Running: 0, Dead: 1 } },
    },
    'GET /v1/job/nightly/allocations': { json: [] },
    'GET /v1/job/nightly/evaluations': { json: [] },
    'GET /v1/jobs': { json: [child, job({ ID: 'nightly/other' })] },
  })
  const ran = await muster('job status nightly')
  t.match(ran, { code: 0, err: '' })
  t.match(ran.out, /^Next Launch +=? 2023-11-15T02:00:00Z$/m)
  t.match(ran.out, /^Pending +Running +Dead\n0 +0 +1$/m)
  t.match(ran.out, /^nightly\/periodic-1 +dead /m)
  t.notMatch(ran.out, 'nightly/other')
})
