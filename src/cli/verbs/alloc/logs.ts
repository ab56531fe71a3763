/** `muster alloc logs`: what a task wrote, and what it goes on to write. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { bytesOfFrames } from '../../api/frames.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { bytesFlag } from '../../flags.ts'
import { showOutput } from '../../print/output.ts'
import { exits, type Verb } from '../../verb.ts'
import { allocationPath, findAllocation, onlyTask } from './find.ts'

/** Of the end that is shown where nothing is said. */
const tailBytes = 4_096

export const allocLogs: Verb = {
  operands: { usage: 'ALLOCATION [TASK]', countMin: 1, countMax: 2 },
  about: `
Shows the output of a task of an allocation, by its id or the front of it: exactly its bytes in a
pipe, without control characters on a terminal. The task is to be named where there are several.
With -tail the end of it, with -f also what is written later, until Ctrl-C.
`,
  flags: {
    stderr: { summary: 'What it wrote to its standard error', value: null },
    task: { summary: 'The task', value: 'TASK' },
    f: { summary: 'Follow it', value: null },
    tail: { summary: `The last ${tailBytes} bytes, or those of -c`, value: null },
    c: { summary: 'The last so many bytes', value: 'BYTES' },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal, operands } = call
    const [given = '', named = flags.last('task')] = operands
    const bytes = bytesFlag(flags, 'c')
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    const task = named ?? onlyTask(objectOf(await client.get(allocationPath(id))))
    const isTail = flags.has('tail') || bytes !== null
    const body = await client.download(`/v1/client/fs/logs/${encodeURIComponent(id)}`, {
      task,
      type: flags.has('stderr') ? 'stderr' : 'stdout',
      origin: isTail ? 'end' : 'start',
      offset: isTail ? (bytes ?? String(tailBytes)) : '0',
      follow: String(flags.has('f')),
    })
    await showOutput(terminal, bytesOfFrames(body))
    return exits.ok
  },
}
