/** A version of a job that changes an allocation in place may write its tasks in another order. */
import t from 'tap'
import { leave, RegistryStandIn, startedRunner, until } from './server-stand-in.ts'
import { setting, shell } from './tasks.ts'

t.test('tasks run on as they are, and get what is new of them', async (t) => {
  const { folder, servers } = await setting(t)
  const registry = new RegistryStandIn()
  const agent = { folder, registry }
  const first = await startedRunner(t, servers, agent)
  const service = (Name: string) => [{ Name, PortLabel: '80' }]
  const tasks = ['a', 'b'].flatMap((Name) =>
    shell(`echo ${Name}; exec sleep 1000`).map((task) => {
      return { ...task, Name, Services: service(`of-${Name}`) }
    }),
  )
  const id = servers.place(1, 'service', tasks)
  const areRunning = await servers.reported(id, (report) =>
    report.tasks.every(({ state }) => state === 'running'),
  )
  const group = first.find(id)?.assigned.group
  if (group === undefined) throw new Error('it is here')
  const Tasks = group.Tasks.toReversed().map((task) => ({
    ...task,
    Services: task.Services.map((one) => ({ ...one, Tags: [`new-${task.Name}`] })),
  }))
  servers.touch(id, { group: { ...group, Tasks }, jobVersion: 1 })
  const tags = () => registry.services().map((one) => [one.name, ...one.tags].join(' '))
  await until(
    () => tags().toSorted().join() === 'of-a new-a,of-b new-b',
    () => `the services: ${tags().join()}`,
  )
  await leave(first)
  const second = await startedRunner(t, servers, agent)
  second.find(id)?.restart('b', false)
  const { tasks: after } = await servers.reported(id, (report) =>
    report.tasks.some(({ task, restarts, state }) => {
      return task === 'b' && restarts === 1 && state === 'running'
    }),
  )
  t.match(after, [
    { task: 'a', restarts: 0, startedMs: areRunning.tasks[0]?.startedMs },
    { task: 'b', restarts: 1 },
  ])
  servers.stop(id)
  await servers.becomes(id, 'complete')
  t.strictSame(tags(), [])
})
