/** One run of a command: exit code 0 is passing, 1 a warning, all else critical. Its whole process group ends with it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { onAbort } from '../../../lib/async.ts'
import { LastBytes } from '../../../lib/last-bytes.ts'
import type { OwnProbe } from '../definition.ts'
import { outputBytesMax } from '../../catalog/model.ts'
import type { ProbeResult } from './probe-result.ts'

export function lookByScript(
  { args }: Extract<OwnProbe, { type: 'script' }>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeResult>()
  const [command = '', ...rest] = args
  // A group of its own, so that what the command starts ends with it.
  const child = spawn(command, rest, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = new LastBytes(outputBytesMax)
  let late = false
  const stopListening = onAbort(signal, () => {
    late = true
    killGroup(child)
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => output.add(chunk))
  }
  child.on('error', (error) => reject(new Error(`${command}: ${error.message}`)))
  // What it left running holds the pipes open: the group goes first, then they close.
  child.on('exit', () => killGroup(child))
  child.on('close', (code) => {
    stopListening()
    const text = output.text()
    if (late) resolve({ status: 'critical', output: `Timed out and was killed\n${text}` })
    else {
      const status = code === 0 ? 'passing' : code === 1 ? 'warning' : 'critical'
      resolve({ status, output: text })
    }
  })
  return promise
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody of the group is left.
  }
}
