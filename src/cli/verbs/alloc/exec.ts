/** `muster alloc exec`: a command beside a task, with this terminal's input and output. */
import { integerOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { parseJson, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import type { Line } from '../../api/websocket.ts'
import { MusterError } from '../../../lib/errors.ts'
import type { Terminal, Verb } from '../../verb.ts'
import { allocationPath, clientPath, findAllocation, onlyTask } from './find.ts'

/** Of input, in one message. */
const chunkBytesMax = 64 * 1_024

export const allocExec: Verb = {
  operands: {
    usage: 'ALLOCATION COMMAND...',
    countMin: 2,
    countMax: Infinity,
    commandAt: 1,
  },
  about: `
Runs a command beside a task of an allocation, with the task's folder and environment. The task is
to be named where there are several. The command ends with this one, and with the task; the exit
code is the command's.
`,
  flags: {
    task: { summary: 'The task', value: 'TASK' },
    i: { summary: 'Hand it standard input, or with -i=false nothing [true]', value: null },
    t: { summary: 'Give it a terminal [where this command has one]', value: null },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal, operands } = call
    const [given = '', ...command] = operands
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    const task = flags.last('task') ?? onlyTask(objectOf(await client.get(allocationPath(id))))
    const hasTerminal = terminal.inIsTerminal && terminal.outIsTerminal
    const tty = flags.last('t') === undefined ? hasTerminal : flags.has('t')
    const line = await client.openLine(clientPath(id, '/exec'), {
      task,
      command: JSON.stringify(command),
      tty: tty ? 'true' : 'false',
    })
    const leave = tty && hasTerminal ? takeTerminal(terminal, line) : () => {}
    const isRead = flags.last('i') === undefined || flags.has('i')
    // It may wait for what is typed when the command has ended.
    void sendInput(line, isRead ? terminal.input() : null).catch(() => {})
    try {
      return await shownOutput(line, terminal)
    } finally {
      leave()
      line.close()
    }
  },
}

/** Keys go to the command as they are typed, and it knows how large the terminal is. Returns the way back. */
function takeTerminal(terminal: Terminal, line: Line): () => void {
  const tellSize = (): void => {
    const size = terminal.size()
    if (size === null) return
    const frame = { tty_size: { height: size.rows, width: size.columns } }
    void line.send(JSON.stringify(frame))
  }
  const forget = terminal.onSignals(['SIGWINCH'], tellSize)
  const restore = terminal.rawInput()
  tellSize()
  return () => {
    forget()
    restore()
  }
}

async function sendInput(line: Line, input: AsyncIterable<Uint8Array> | null): Promise<void> {
  for await (const part of input ?? []) {
    for (let at = 0; at < part.length; at += chunkBytesMax) {
      const data = Buffer.from(part.subarray(at, at + chunkBytesMax)).toString('base64')
      await line.send(JSON.stringify({ stdin: { data } }))
    }
  }
  await line.send(JSON.stringify({ stdin: { close: true } }))
}

/** Resolves to the exit code of the command. */
async function shownOutput(line: Line, terminal: Terminal): Promise<number> {
  for await (const message of line.messages) {
    const frame = objectOf(parseJson(message, 'a frame of the command'))
    const [out, err] = [dataOf(frame, 'stdout'), dataOf(frame, 'stderr')]
    if (out !== null) terminal.out(out)
    if (err !== null) terminal.err(err)
    await terminal.flushed()
    if (frame['exited'] === true) {
      return Number(integerOf(objectOf(frame['result']), 'exit_code'))
    }
  }
  throw new MusterError('unavailable', 'the agent hung up before the command had ended')
}

function dataOf(frame: JsonObject, name: string): Buffer | null {
  const part = objectOf(frame[name] ?? {})
  return part['data'] === undefined ? null : Buffer.from(textOf(part, 'data'), 'base64')
}
