/** `muster job run`, `stop` and `eval`: writes, and the evaluations that follow. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silenceMsMax } from '../../src/cli/api/client.ts'
import { standIn, type Reply } from './api-stand-in.ts'
import { run, type Typed } from './terminal.ts'
import {
  allocation,
  done,
  evaluated,
  evaluation,
  evaluationPath,
  ids,
  job,
  unplaced,
} from './workloads.ts'

type Replies = Readonly<Record<string, Reply | readonly Reply[]>>

async function against(t: Test, replies: Replies) {
  const { address, asked } = await standIn(t, replies)
  return {
    asked,
    bodyOf: (method: string, path: string): unknown =>
      JSON.parse(
        asked.find((one) => one.method === method && one.url.startsWith(path))?.body ?? 'null',
      ),
    muster: (line: string, typed: Typed = {}) =>
      run(line.split(' '), { ...typed, env: { MUSTER_ADDR: address, ...typed.env } }),
  }
}

const parsed: Replies = {
  'POST /v1/jobs/parse': { json: job() },
  'PUT /v1/jobs': evaluated,
  ...done,
}

function fileIn(t: Test, text = 'job "web" {}\n'): string {
  return join(t.testdir({ 'web.hcl': text }), 'web.hcl')
}

t.test('a job is parsed, registered, and followed until it has its places', async (t) => {
  const { muster, asked, bodyOf } = await against(t, {
    ...parsed,
    [evaluationPath]: [
      { json: evaluation({ Status: 'pending', ModifyIndex: 11 }) },
      { json: evaluation() },
    ],
    [`${evaluationPath}/allocations`]: {
      json: [allocation(), allocation({ ID: ids.older, CreateIndex: 5, NodeName: 'other' })],
    },
  })
  const ran = await muster(`job run -var image=redis ${fileIn(t)}`)
  t.match(ran, { code: 0, err: '' })
  t.equal(
    ran.out,
    `Registered job "web"
Evaluation e1111111: job-register of job "web", pending
Allocation a1111111 placed: node "box", group "web"
Allocation a2222222 changed: node "other", group "web"
Evaluation e1111111: complete
`,
  )
  t.match(bodyOf('POST', '/v1/jobs/parse'), {
    JobHCL: 'job "web" {}\n',
    Variables: 'image = "redis"\n',
    Canonicalize: true,
  })
  t.strictSame(bodyOf('PUT', '/v1/jobs'), { Job: job() })
  const waited = asked.filter(({ url }) => url.includes('index='))
  t.match(waited, [{ url: /index=11&wait=\d+s/ }], 'it waits for a change')
  const waitMs = 1_000 * Number(/wait=(\d+)s/.exec(waited[0]?.url ?? '')?.[1])
  // Servers add up to a sixteenth.
  t.ok((waitMs * 17) / 16 < silenceMsMax, 'and does not give up before the answer')
})

t.test('what has no place is told, with the reasons, and is exit code 1', async (t) => {
  const { muster } = await against(t, {
    ...parsed,
    [evaluationPath]: { json: unplaced },
    [`${evaluationPath}/allocations`]: { json: [] },
  })
  const ran = await muster(`job run -verbose ${fileIn(t)}`)
  t.equal(ran.code, 1)
  t.equal(
    ran.out,
    `Registered job "web"
Evaluation ${ids.evaluation}: complete, but not all have a place
Group "web": no place for 2 allocations
  * Constraint "missing drivers" rules out 2 nodes
  * 1 node without room: memory
Evaluation ${ids.blocked} waits until there is room for the rest
`,
  )
})

t.test('an evaluation that fails is exit code 1, and says why', async (t) => {
  const { muster } = await against(t, {
    ...parsed,
    [evaluationPath]: {
      json: evaluation({ Status: 'failed', StatusDescription: 'tried 5 times' }),
    },
  })
  t.match(await muster(`job run ${fileIn(t)}`), {
    code: 1,
    out: /Evaluation e1111111: failed \(tried 5 times\)\n$/,
  })
})

t.test('a server that is between two leaders is asked again', async (t) => {
  const { muster } = await against(t, {
    ...parsed,
    [evaluationPath]: [{ status: 500, text: 'no leader' }, { json: evaluation() }],
  })
  t.match(await muster(`job run ${fileIn(t)}`), { code: 0, out: /complete\n$/ })
})

t.test('options of job run', async (t) => {
  const { muster, asked, bodyOf } = await against(t, parsed)
  const file = fileIn(t)
  t.match(await muster(`job run -detach ${file}`), {
    code: 0,
    out: `Registered job "web"\nEvaluation ${ids.evaluation}\n`,
  })
  t.notOk(asked.some(({ url }) => url.startsWith('/v1/evaluation')))
  const printed = await muster(`job run -output ${file}`)
  t.strictSame(JSON.parse(printed.out), { Job: job() })
  t.equal(asked.filter(({ method }) => method === 'PUT').length, 1, '-output registers nothing')
  t.match(await muster(`job run -json ${file}`), { code: 2, err: /web\.hcl is not a job in JSON/ })
  t.match(await muster(`job run -check-index -1 ${file}`), { code: 2 })
  t.match(await muster('job run'), { code: 2, err: /FILE\|- is missing/ })
  t.match(bodyOf('PUT', '/v1/jobs'), { EnforceIndex: undefined })
})

t.test('the index that a job must be at is sent, and 0 too', async (t) => {
  for (const index of [0, 7]) {
    const { muster, bodyOf } = await against(t, parsed)
    await muster(`job run -check-index ${index} ${fileIn(t)}`)
    t.match(bodyOf('PUT', '/v1/jobs'), { EnforceIndex: true, JobModifyIndex: index })
  }
  const { muster } = await against(t, {
    ...parsed,
    'PUT /v1/jobs': { status: 409, text: 'job exists with conflicting job modify index: 9' },
  })
  t.match(await muster(`job run -check-index 7 ${fileIn(t)}`), {
    code: 1,
    err: /conflicting job modify index: 9/,
  })
})

t.test(
  'the namespace is that of the option, else of the file, else of the environment',
  async (t) => {
    const env = { MUSTER_NAMESPACE: 'env' }
    const cases = [
      { file: { Namespace: 'file' }, option: '-namespace=option ', expected: 'option' },
      { file: { Namespace: 'file' }, option: '', expected: 'file' },
      { file: {}, option: '', expected: 'env' },
    ]
    for (const { file, option, expected } of cases) {
      const { muster, asked, bodyOf } = await against(t, parsed)
      const text = JSON.stringify({ Job: { ID: 'web', ...file } })
      await muster(`job run ${option}${fileIn(t, text)}`, { env })
      t.match(bodyOf('PUT', '/v1/jobs'), { Job: { ID: 'web', Namespace: expected } })
      t.match(
        asked[0],
        { url: `/v1/jobs?namespace=${expected}` },
        'JSON is not parsed by the agent',
      )
    }
  },
)

t.test('warnings are told, and a job that only waits has no evaluation', async (t) => {
  const { muster } = await against(t, {
    ...parsed,
    'PUT /v1/jobs': { json: { EvalID: '', Warnings: '1 warning:\n\n* odd', Index: 11 } },
  })
  t.match(await muster(`job run ${fileIn(t)}`), {
    code: 0,
    out: 'Registered job "web"\n',
    err: '1 warning:\n\n* odd\n',
  })
})

t.test('a job is stopped or purged, and what follows is followed', async (t) => {
  const { muster, asked } = await against(t, {
    ...done,
    'GET /v1/job/web': { json: job() },
    'DELETE /v1/job/web': evaluated,
  })
  t.match(await muster('job stop web'), {
    code: 0,
    out: /^Stopped job "web"\n(.*\n)*Evaluation e1111111: complete\n$/,
  })
  t.match(await muster('job stop -purge -detach web'), {
    code: 0,
    out: `Purged job "web"\nEvaluation ${ids.evaluation}\n`,
  })
  t.match(await muster('job stop -no-shutdown-delay -detach web'), { code: 0 })
  t.match(await muster('job stop -eval-priority 90 -detach web'), { code: 0 })
  t.match(await muster('job stop -eval-priority 0 web'), { code: 2, err: /whole number from 1/ })
  t.match(
    asked.filter(({ method }) => method === 'DELETE').map(({ url }) => url),
    [
      /purge=false$/,
      /purge=true$/,
      /namespace=default&purge=false&no_shutdown_delay=true$/,
      /&eval_priority=90$/,
    ],
  )
})

t.test('a job that is found by the front of its id is stopped after a question only', async (t) => {
  const replies = {
    ...done,
    'GET /v1/jobs': { json: [job({ ID: 'a/web' })] },
    'GET /v1/job/a%2Fweb': { json: job({ ID: 'a/web' }) },
    'DELETE /v1/job/a%2Fweb': evaluated,
  }
  const { muster, asked } = await against(t, replies)
  const deleted = (): number => asked.filter(({ method }) => method === 'DELETE').length
  t.match(await muster('job stop a'), { code: 2, err: /the job is "a\/web": give its whole id/ })
  t.match(await muster('job stop a', { isTerminal: true, input: 'no\n' }), {
    code: 1,
    err: /stop job "a\/web"\?.*Nothing was changed/,
  })
  t.equal(deleted(), 0)
  t.match(await muster('job stop a', { isTerminal: true, input: 'yes\n' }), { code: 0 })
  t.match(await muster('job stop -yes a'), { code: 0, out: /^Stopped job "a\/web"/ })
  t.equal(deleted(), 2)
})

t.test('a registration sends the priority of its evaluation', async (t) => {
  const { muster, bodyOf } = await against(t, parsed)
  t.match(await muster(`job run -detach -eval-priority 90 ${fileIn(t)}`), { code: 0 })
  t.strictSame(bodyOf('PUT', '/v1/jobs'), { Job: job(), EvalPriority: 90 })
})

t.test('the scheduler is asked to look again', async (t) => {
  const { muster, bodyOf } = await against(t, {
    ...done,
    'GET /v1/job/web': { json: job({ Namespace: 'dev' }) },
    'PUT /v1/job/web/evaluate': evaluated,
  })
  t.match(await muster('job eval -namespace dev web'), { code: 0, out: /: complete\n$/ })
  const place = { JobID: 'web', Namespace: 'dev' }
  t.strictSame(bodyOf('PUT', '/v1/job/web/evaluate'), place)
})

t.test('the scheduler is asked to place what failed anew', async (t) => {
  const { muster, bodyOf } = await against(t, {
    ...done,
    'GET /v1/job/web': { json: job() },
    'PUT /v1/job/web/evaluate': evaluated,
  })
  t.match(await muster('job eval -force-reschedule web'), { code: 0, out: /: complete\n$/ })
  t.match(bodyOf('PUT', '/v1/job/web/evaluate'), { EvalOptions: { ForceReschedule: true } })
})

t.test('a dispatch sends meta and payload, and follows the evaluation', async (t) => {
  const { muster, asked, bodyOf } = await against(t, {
    'GET /v1/job/encode': { json: job({ ID: 'encode' }) },
    'PUT /v1/job/encode/dispatch': {
      json: { DispatchedJobID: 'encode/dispatch-1-a', EvalID: ids.evaluation },
    },
    ...done,
  })
  const ran = await muster(
    `job dispatch -detach -priority 70 -meta size=9 -meta name=a=b -id-prefix-template x -idempotency-token k encode ${fileIn(t, 'hello')}`,
  )
  t.match(ran, { code: 0, err: '' })
  t.equal(ran.out, `Dispatched job "encode/dispatch-1-a"\nEvaluation ${ids.evaluation}\n`)
  t.strictSame(bodyOf('PUT', '/v1/job/encode/dispatch'), {
    Meta: { size: '9', name: 'a=b' },
    Payload: 'aGVsbG8=',
    IdPrefixTemplate: 'x',
    Priority: 70,
  })
  t.ok(asked.some(({ url }) => url.includes('idempotency_token=k')))
  const again = await muster('job dispatch encode')
  t.match(again, { code: 0, out: /Evaluation e1111111: complete/ })
  t.match(await muster('job dispatch'), { code: 2 })
})

t.test('what is over is collected', async (t) => {
  const { muster, asked } = await against(t, { 'PUT /v1/system/gc': { json: null } })
  t.match(await muster('system gc'), { code: 0, out: '', err: '' })
  t.match(asked, [{ method: 'PUT', url: '/v1/system/gc' }])
})

t.test('a periodic job has no evaluation, but a next launch; one is started by hand', async (t) => {
  const Periodic = { Spec: '@hourly', TimeZone: 'UTC' }
  const { muster } = await against(t, {
    'POST /v1/jobs/parse': { json: job({ Periodic }) },
    'PUT /v1/jobs': { json: { EvalID: '', EvalCreateIndex: 0, JobModifyIndex: 9, Warnings: '' } },
    'GET /v1/job/web': { json: job({ Periodic }) },
    'PUT /v1/job/web/periodic/force': evaluated,
    ...done,
  })
  const ran = await muster(`job run ${fileIn(t)}`)
  t.match(ran, { code: 0, out: /^Registered job "web"\nNext launch: \S+:00:00Z\n$/ })
  const forced = await muster('job periodic force web')
  t.match(forced, { code: 0, out: /^Started periodic job "web"\n[^]*Evaluation e1111111: / })
})

t.test('a group is scaled, by its name or as the only one; a job is reverted', async (t) => {
  const events = [
    {
      Count: 4,
      PreviousCount: 3,
      Error: false,
      Message: 'load',
      Meta: {},
      EvalID: ids.evaluation,
      Time: 1_700_000_000_000_000_000,
      CreateIndex: 9,
    },
  ]
  const { muster, bodyOf } = await against(t, {
    'GET /v1/job/web': { json: job() },
    'PUT /v1/job/web/scale': evaluated,
    'GET /v1/job/web/scale': { json: { TaskGroups: { web: { Events: events } } } },
    'PUT /v1/job/web/revert': evaluated,
    ...done,
  })
  const ran = await muster('job scale -detach -message load -check-index 10 web 4')
  t.match(ran, { code: 0, out: /^Scaled group "web" of job "web" to 4\nEvaluation / })
  t.match(bodyOf('PUT', '/v1/job/web/scale'), {
    Count: 4,
    Target: { Group: 'web' },
    Message: 'load',
    EnforceIndex: true,
    JobModifyIndex: 10,
  })
  t.match(await muster('job scale web api x'), { code: 2, err: /COUNT is a number/ })
  t.match(await muster('job scaling-events web'), {
    code: 0,
    out: /^Group +Count +Previous +Error +Time +Message\nweb +4 +3 +false +\S+ +load\n$/,
  })
  t.match(await muster('job revert -detach web 0'), {
    code: 0,
    out: /^Reverted job "web" to version 0\nEvaluation /,
  })
  t.match(bodyOf('PUT', '/v1/job/web/revert'), { JobVersion: 0 })
  t.match(await muster('job revert web x'), { code: 2 })
})

const counts = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
}

function planned(changes: Readonly<Record<string, unknown>>) {
  return {
    Annotations: { DesiredTGUpdates: { web: { ...counts, ...changes } } },
    FailedTGAllocs: null,
    JobModifyIndex: 7,
    CreatedEvals: null,
    Diff: {
      Type: 'Edited',
      ID: 'web',
      Fields: [{ Type: 'Edited', Name: 'Priority', Old: '50', New: '60', Annotations: null }],
      Objects: [],
      TaskGroups: [
        {
          Type: 'Edited',
          Name: 'web',
          Fields: [
            { Type: 'Edited', Name: 'Count', Old: '1', New: '3', Annotations: ['forces create'] },
          ],
          Objects: [],
          Tasks: [
            {
              Type: 'Edited',
              Name: 'main',
              Fields: [],
              Objects: [
                {
                  Type: 'Edited',
                  Name: 'Resources',
                  Fields: [
                    { Type: 'Deleted', Name: 'CPU', Old: '100', New: '', Annotations: null },
                  ],
                  Objects: [],
                },
              ],
              Annotations: ['forces create/destroy update'],
            },
          ],
          Updates: { create: 2 },
        },
      ],
    },
    NextPeriodicLaunch: '0001-01-01T00:00:00Z',
    Warnings: '',
  }
}

t.test('a plan shows what differs and what it means; the exit code tells scripts', async (t) => {
  const { muster, bodyOf } = await against(t, {
    ...parsed,
    'PUT /v1/job/web/plan': [
      { json: planned({ Place: 2 }) },
      { json: planned({ InPlaceUpdate: 1 }) },
      { status: 400, text: 'Priority must be from 1 to 100' },
    ],
  })
  const file = fileIn(t)
  const ran = await muster(`job plan ${file}`)
  t.match(ran, { code: 1, err: '' })
  t.equal(
    ran.out,
    `+/- Job: "web"
  +/- Priority: "50" => "60"
+/- Task Group: "web" (2 create)
  +/- Count: "1" => "3" (forces create)
  +/- Task: "main" (forces create/destroy update)
    +/- Resources
      - CPU: "100"

Scheduler dry run
All allocations would have a place

Job Modify Index: 7
To register the job only if nothing changed meanwhile:
  muster job run -check-index 7 ${file}
`,
  )
  t.match(bodyOf('PUT', '/v1/job/web/plan'), { Job: job(), Diff: true })
  t.match(await muster(`job plan ${file}`), { code: 0 }, 'no allocation is made or stopped')
  t.match(await muster(`job plan ${file}`), { code: 255, err: /^muster job plan: Priority must/ })
  t.match(await muster('job plan'), { code: 2 })
})
