/** `muster alloc restart`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { exits, type Verb } from '../../verb.ts'
import { clientPath, findAllocation } from './find.ts'

export const allocRestart: Verb = {
  operands: { usage: 'ALLOCATION [TASK]', countMin: 1, countMax: 2 },
  about: `
Restarts the tasks of an allocation that run, or one of them, in their place: it is the same
allocation afterwards. It counts for no restart policy. With -all-tasks the tasks that ended run
once more too: all tasks end, and then start in the order of their lifecycle.
`,
  flags: {
    task: { summary: 'The task', value: 'TASK' },
    'all-tasks': { summary: 'Also tasks that ended, in the order of their lifecycle', value: null },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const [given = '', task = flags.last('task') ?? ''] = call.operands
    const all = flags.has('all-tasks')
    if (all && task !== '') misused('-all-tasks goes without a task')
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    const json = { TaskName: task, AllTasks: all }
    await client.ask('PUT', clientPath(id, '/restart'), { json })
    const tasks = all ? 'All its tasks restart' : 'Its tasks restart'
    const what = task === '' ? tasks : `Task ${JSON.stringify(task)} restarts`
    terminal.out(`${what} in allocation ${JSON.stringify(id)}\n`)
    return exits.ok
  },
}
