/** `muster alloc signal`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { exits, type Verb } from '../../verb.ts'
import { clientPath, findAllocation } from './find.ts'

const signalDefault = 'SIGKILL'

export const allocSignal: Verb = {
  operands: { usage: 'ALLOCATION [TASK]', countMin: 1, countMax: 2 },
  about: `
Sends a signal to the tasks of an allocation that run, or to one of them. What follows from the end
of a task is its restart policy's to say.
`,
  flags: {
    s: { summary: `The signal, as SIGHUP; ${signalDefault} unless said`, value: 'SIGNAL' },
    task: { summary: 'The task', value: 'TASK' },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const [given = '', task = flags.last('task') ?? ''] = call.operands
    const signal = flags.last('s') ?? signalDefault
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    await client.ask('PUT', clientPath(id, '/signal'), { json: { Signal: signal, Task: task } })
    terminal.out(`${signal} was sent in allocation ${JSON.stringify(id)}\n`)
    return exits.ok
  },
}
