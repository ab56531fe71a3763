/** What differs between two versions of a job. */
import t from 'tap'
import { jobDiff } from '../../../src/domains/jobs/diff-model.ts'
import { completed, jobWith, type Json } from './job-drafts.ts'

function diffOf(before: Json | null, after: Json) {
  return jobDiff(before === null ? null : completed(before), completed(after))
}

t.test('the same job has no difference', async (t) => {
  t.same(diffOf(jobWith(), jobWith()), {
    Type: 'None',
    ID: 'web',
    Fields: [],
    Objects: [],
    TaskGroups: [],
  })
})

t.test('a job that was stopped would start again', async (t) => {
  const [before, after] = [completed(jobWith()), completed(jobWith())]
  t.match(jobDiff(before, after, { before: true, after: false }), {
    Type: 'Edited',
    Fields: [{ Type: 'Edited', Name: 'Stop', Old: 'true', New: 'false' }],
  })
  t.match(jobDiff(before, after, { before: false, after: true }), {
    Fields: [{ Type: 'Edited', Name: 'Stop', Old: 'false', New: 'true' }],
  })
  t.same(jobDiff(before, after, { before: true, after: true }).Fields, [])
})

t.test('what groups inherit of the job is told in the groups alone', async (t) => {
  const diff = diffOf(
    jobWith({ Update: { Canary: 1 }, Reschedule: { Delay: 60e9 }, Migrate: { MaxParallel: 1 } }),
    jobWith({ Update: { Canary: 2 }, Reschedule: { Delay: 90e9 }, Migrate: { MaxParallel: 2 } }),
  )
  t.match(diff, { Type: 'Edited', Fields: [], Objects: [] })
  t.equal(diff.Objects.length, 0)
  const names = ['Migrate', 'ReschedulePolicy', 'Update']
  t.match(diff.TaskGroups, [{ Objects: names.map((Name) => ({ Type: 'Edited', Name })) }])
})

t.test('fields, words of lists, names of maps and objects', async (t) => {
  const diff = diffOf(
    jobWith({ Priority: 50, Datacenters: ['a', 'b'], Meta: { x: '1', y: '2' } }),
    jobWith({ Priority: 60, Datacenters: ['b', 'c'], Meta: { x: '3', z: '4' } }),
  )
  t.equal(diff.Type, 'Edited')
  t.match(diff.Fields, [
    { Type: 'Edited', Name: 'Meta[x]', Old: '1', New: '3' },
    { Type: 'Deleted', Name: 'Meta[y]', Old: '2', New: '' },
    { Type: 'Added', Name: 'Meta[z]', Old: '', New: '4' },
    { Type: 'Edited', Name: 'Priority', Old: '50', New: '60' },
  ])
  t.match(diff.Objects, [
    {
      Type: 'Edited',
      Name: 'Datacenters',
      Fields: [
        { Type: 'Deleted', Old: 'a' },
        { Type: 'Added', New: 'c' },
      ],
    },
  ])
  t.same(diff.TaskGroups, [])
})

t.test('groups and tasks are compared by their names, constraints as they are', async (t) => {
  const constraint = { LTarget: '${attr.kernel.name}', Operand: '=', RTarget: 'linux' }
  const tasks = (...names: readonly string[]) => names.map((Name) => ({ Name, Driver: 'exec' }))
  const group = (Name: string, Tasks: Json[], more: Json = {}) => ({ Name, Tasks, ...more })
  const diff = diffOf(
    jobWith({ TaskGroups: [group('a', tasks('t', 'u')), group('b', tasks('t'))] }),
    jobWith({
      TaskGroups: [
        group('c', tasks('t')),
        group('a', tasks('u', 'v'), { Constraints: [constraint] }),
      ],
    }),
  )
  t.match(
    diff.TaskGroups.map(({ Type, Name }) => [Type, Name]),
    [
      ['Added', 'c'],
      ['Edited', 'a'],
      ['Deleted', 'b'],
    ],
  )
  const [, edited] = diff.TaskGroups
  t.match(edited?.Objects, [
    {
      Type: 'Added',
      Name: 'Constraints',
      Fields: [{ Name: 'LTarget' }, { Name: 'Operand' }, { Name: 'RTarget' }],
    },
  ])
  t.match(
    edited?.Tasks.map(({ Type, Name }) => [Type, Name]),
    [
      ['Added', 'v'],
      ['Deleted', 't'],
    ],
  )
})

t.test('a new job is added with all that it says, and no empty parts', async (t) => {
  const diff = diffOf(null, jobWith())
  t.equal(diff.Type, 'Added')
  t.ok(diff.Fields.every(({ Type }) => Type === 'Added'))
  const all = diff.TaskGroups.flatMap(({ Objects }) => Objects)
  t.ok(all.every(({ Fields, Objects }) => Fields.length > 0 || Objects.length > 0))
})

t.test('of several of one name each is compared with that of its number', async (t) => {
  const services = (...ports: readonly string[]) =>
    jobWith({
      TaskGroups: [
        {
          Name: 'a',
          Tasks: [{ Name: 't', Driver: 'exec' }],
          Services: ports.map((PortLabel) => ({ Name: 'web', PortLabel })),
        },
      ],
    })
  const rows = [
    { before: ['80', '81'], after: ['80', '81'], expected: [] },
    { before: ['80', '81'], after: ['80'], expected: [['Deleted', '81', '']] },
    { before: ['80', '80'], after: ['80'], expected: [['Deleted', '80', '']] },
    { before: ['80'], after: ['80', '81'], expected: [['Added', '', '81']] },
    { before: ['80', '81'], after: ['80', '82'], expected: [['Edited', '81', '82']] },
  ]
  for (const { before, after, expected } of rows) {
    const diff = diffOf(services(...before), services(...after))
    t.equal(diff.Type, expected.length === 0 ? 'None' : 'Edited')
    const found = diff.TaskGroups.flatMap(({ Objects }) =>
      Objects.map(({ Type, Fields }) => {
        const port = Fields.find(({ Name }) => Name === 'PortLabel')
        return [Type, port?.Old, port?.New]
      }),
    )
    t.same(found, expected, `${before.join()} to ${after.join()}`)
  }
})
