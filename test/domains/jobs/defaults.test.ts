/** What is left out of a job gets its default, by type, and groups and tasks inherit. */
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { completed, jobWith, problemsOf, type Json } from './job-drafts.ts'
import { amount, seed } from '../../support/randomness.ts'

const second = 1e9
const minute = 60 * second
const hour = 60 * minute

t.test('the block disconnect has other names for members of its group', async (t) => {
  const [group] = completed(jobWith({}, { Disconnect: { LostAfter: 60 * second } })).TaskGroups
  t.match(group, {
    MaxClientDisconnect: 60 * second,
    StopAfterClientDisconnect: null,
    Disconnect: { StopOnClientAfter: null, Replace: true, Reconcile: 'best_score' },
  })
  const none = { LostAfter: 0, StopOnClientAfter: 10 * second }
  const [stopping] = completed(jobWith({}, { Disconnect: none })).TaskGroups
  t.match(stopping, { MaxClientDisconnect: null, StopAfterClientDisconnect: 10 * second })
})

t.test('words that clients in Go send as empty are as those that are left out', async (t) => {
  const empty = jobWith(
    { Type: 'batch', ParameterizedJob: { Payload: '' } },
    { Scaling: { Type: '', Max: 3 } },
    { Artifacts: [{ GetterSource: 'https://host/x', GetterMode: '' }] },
  )
  const left = jobWith(
    { Type: 'batch', ParameterizedJob: {} },
    { Scaling: { Max: 3 } },
    { Artifacts: [{ GetterSource: 'https://host/x' }] },
  )
  t.same(completed(empty), completed(left))
  t.same(problemsOf(empty), [])
  t.equal(completed(empty).ParameterizedJob?.Payload, 'optional')
})

t.test('a job of the least is a service', async (t) => {
  const { TaskGroups, ...job } = completed(jobWith())
  t.match(job, {
    ID: 'web',
    Name: 'web',
    Namespace: 'default',
    Region: 'global',
    Type: 'service',
    Priority: 50,
    AllAtOnce: false,
    Update: {
      Stagger: 30 * second,
      MaxParallel: 1,
      HealthCheck: 'checks',
      MinHealthyTime: 10 * second,
      HealthyDeadline: 5 * minute,
      ProgressDeadline: 10 * minute,
      Canary: 0,
      AutoRevert: false,
      AutoPromote: false,
    },
    Periodic: null,
    ParameterizedJob: null,
  })
  const [group] = TaskGroups
  t.match(group, {
    Count: 1,
    EphemeralDisk: { Sticky: false, Migrate: false, SizeMB: 300 },
    RestartPolicy: { Attempts: 2, Interval: 30 * minute, Delay: 15 * second, Mode: 'fail' },
    ReschedulePolicy: {
      Attempts: 0,
      Interval: 0,
      Delay: 30 * second,
      DelayFunction: 'exponential',
      MaxDelay: hour,
      Unlimited: true,
    },
    Migrate: {
      MaxParallel: 1,
      HealthCheck: 'checks',
      MinHealthyTime: 10 * second,
      HealthyDeadline: 5 * minute,
    },
  })
  t.same(group?.Update, job.Update)
  t.match(group?.Tasks[0], {
    KillTimeout: 5 * second,
    Resources: { CPU: 100, MemoryMB: 300 },
    LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10 },
    Leader: false,
    Lifecycle: null,
  })
  t.same(group?.Tasks[0]?.RestartPolicy, group?.RestartPolicy)
})

const ofType: readonly (readonly [string, Json])[] = [
  [
    'batch',
    {
      Update: null,
      Migrate: null,
      RestartPolicy: { Attempts: 3, Interval: 24 * hour, Delay: 15 * second, Mode: 'fail' },
      ReschedulePolicy: {
        Attempts: 1,
        Interval: 24 * hour,
        Delay: 5 * second,
        DelayFunction: 'constant',
        MaxDelay: 0,
        Unlimited: false,
      },
    },
  ],
  ['system', { Migrate: null, ReschedulePolicy: null, Update: { MaxParallel: 1 } }],
  ['sysbatch', { Migrate: null, ReschedulePolicy: null, Update: null }],
]

for (const [type, expected] of ofType) {
  t.test(`a group of a ${type} job has the defaults of that type`, async (t) => {
    t.match(completed(jobWith({ Type: type })).TaskGroups[0], expected)
  })
}

t.test('groups and tasks inherit member by member', async (t) => {
  const job = completed(
    jobWith(
      {
        Update: { MaxParallel: 3, Canary: 1 },
        Migrate: { MaxParallel: 2 },
        Reschedule: { Delay: 60 * second },
      },
      {
        Update: { Canary: 2 },
        Migrate: { HealthCheck: 'task_states' },
        ReschedulePolicy: { MaxDelay: 2 * hour },
        RestartPolicy: { Attempts: 5 },
      },
      { RestartPolicy: { Mode: 'delay' } },
    ),
  )
  const [group] = job.TaskGroups
  t.match(group?.Update, { MaxParallel: 3, Canary: 2, Stagger: 30 * second })
  t.match(group?.Migrate, { MaxParallel: 2, HealthCheck: 'task_states' })
  t.match(group?.ReschedulePolicy, { Delay: 60 * second, MaxDelay: 2 * hour, Unlimited: true })
  t.match(group?.Tasks[0]?.RestartPolicy, { Attempts: 5, Mode: 'delay', Delay: 15 * second })
})

t.test('services, checks, ports, templates and artifacts are completed', async (t) => {
  const job = completed(
    jobWith(
      {},
      {
        Networks: [{ DynamicPorts: [{ Label: 'http' }] }],
        Services: [{ PortLabel: 'http', CheckRestart: { Limit: 3 }, Checks: [{ Type: 'tcp' }] }],
      },
      {
        Services: [{}],
        Templates: [{ ChangeMode: 'signal' }, {}, { ChangeScript: { Command: 'x' } }],
        Artifacts: [{ GetterSource: 'https://x/a.bin', GetterMode: 'file' }, {}],
        VolumeMounts: [{ Volume: 'v' }],
      },
    ),
  )
  const [group] = job.TaskGroups
  t.match(group?.Networks[0], { Mode: 'host', DynamicPorts: [{ HostNetwork: 'default', To: 0 }] })
  t.match(group?.Services[0], {
    Name: 'web-g',
    AddressMode: 'auto',
    TaskName: '',
    Checks: [
      {
        Name: 'service: "web-g" check',
        OnUpdate: 'require_healthy',
        CheckRestart: { Limit: 3, Grace: second },
      },
    ],
  })
  const [task] = group?.Tasks ?? []
  t.match(task?.Services[0], { Name: 'web-g-t', TaskName: 't' })
  t.match(task?.Templates, [
    { ChangeMode: 'signal', ChangeSignal: 'SIGHUP', Perms: '0644', Splay: 5 * second },
    { ChangeMode: 'restart', ChangeSignal: '', LeftDelim: '{{', RightDelim: '}}' },
    { ChangeScript: { Command: 'x', Args: [], Timeout: 5 * second, FailOnError: false } },
  ])
  t.match(task?.Artifacts, [{ RelativeDest: 'local/a.bin' }, { RelativeDest: 'local/' }])
  t.match(task?.VolumeMounts[0], { PropagationMode: 'private', ReadOnly: false })
})

t.test('a count that is left out is the least that scaling allows', async (t) => {
  const countsOf = (group: Json) => {
    return completed(jobWith({}, group)).TaskGroups.map(({ Count, Scaling }) => [
      Count,
      Scaling?.Min,
    ])
  }
  t.same(countsOf({ Scaling: { Min: 2, Max: 5 } }), [[2, 2]])
  t.same(countsOf({ Scaling: { Min: 0, Max: 5 } }), [[0, 0]])
  t.same(countsOf({ Scaling: { Max: 5 } }), [[1, 1]])
  t.same(countsOf({ Count: 3, Scaling: { Max: 5 } }), [[3, 3]])
  t.same(countsOf({ Count: 3, Scaling: { Min: 2, Max: 5 } }), [[3, 2]])
})

t.test(`a complete job stays as it is (seed ${seed})`, async (t) => {
  const part = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
  const rules = fc.record({
    MaxParallel: part(fc.nat(9)),
    HealthCheck: part(fc.constantFrom('checks', 'task_states')),
    MinHealthyTime: part(fc.nat()),
  })
  const group = fc.record({
    Name: part(fc.string()),
    Count: part(fc.nat(9)),
    Update: part(rules),
    Migrate: part(rules),
    ReschedulePolicy: part(fc.record({ Attempts: part(fc.nat(9)), Delay: part(fc.nat()) })),
    Meta: part(fc.dictionary(fc.string(), fc.string())),
    Services: part(fc.array(fc.record({ Name: part(fc.string()) }), { maxLength: 2 })),
    Tasks: part(
      fc.array(
        fc.record({
          Name: part(fc.string()),
          RestartPolicy: part(fc.record({ Attempts: part(fc.nat(9)) })),
          Config: part(fc.dictionary(fc.string(), fc.jsonValue())),
        }),
        { maxLength: 2 },
      ),
    ),
  })
  const job = fc.record({
    ID: part(fc.string()),
    Type: part(fc.constantFrom('service', 'batch', 'system', 'sysbatch', 'toString')),
    Update: part(rules),
    Migrate: part(rules),
    Reschedule: part(fc.record({ Unlimited: part(fc.boolean()) })),
    TaskGroups: part(fc.array(group, { maxLength: 2 })),
  })
  fc.assert(
    fc.property(job, (written) => {
      const once = completed(JSON.parse(JSON.stringify(written)))
      const twice = completed(JSON.parse(JSON.stringify(once)))
      t.equal(JSON.stringify(twice), JSON.stringify(once))
    }),
    { numRuns: amount('FUZZ_JOBS', { gate: 200, long: 5_000 }), seed },
  )
})
