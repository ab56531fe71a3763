/**
 * Output of a command as few chunks: what it writes in small pieces, one after another, is joined for some milliseconds, since each chunk
 * costs a message at the agent, at servers and at whoever reads. The first piece after a rest goes out at once.
 */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ExecOutput, RunningCommand } from '../drivers/exec-process.ts'

/** Between two chunks that are not full. */
const joinMs = 5
const chunkBytesMax = 32 * 1_024

type Output = RunningCommand['output']

/** Reads `output` only while it is read itself, and one piece ahead. */
export function joinedOutput(output: Output, clock: Clock): Output {
  /** Asked for, and not handed out. */
  let ahead: Promise<IteratorResult<ExecOutput>> | null = null
  let lastMs = -Infinity

  const peek = (): Promise<IteratorResult<ExecOutput>> => {
    if (ahead === null) {
      ahead = output.next()
      // It may fail while nobody waits for it; who asks next hears it.
      ahead.catch(() => {})
    }
    return ahead
  }

  /** All that there is of the same kind, up to a full chunk, until `ms` are over. */
  const gather = async (first: Written, ms: number): Promise<Written> => {
    const parts = [first.data]
    let bytes = first.data.length
    const stop = new AbortController()
    const over = delay(clock, ms, stop.signal).then(() => null)
    while (bytes < chunkBytesMax) {
      // A failure is for who asks next.
      const next = await Promise.race([peek().catch(() => null), over])
      if (next === null || next.done === true || next.value.type !== first.type) break
      const { data } = next.value
      if (bytes + data.length > chunkBytesMax) break
      ahead = null
      parts.push(data)
      bytes += data.length
    }
    stop.abort()
    return parts.length === 1 ? first : { type: first.type, data: Buffer.concat(parts, bytes) }
  }

  const outputs: Output = {
    [Symbol.asyncIterator]: () => outputs,
    async next() {
      const result = await peek()
      ahead = null
      if (result.done === true || result.value.type === 'exited') return result
      const waitMs = lastMs + joinMs - clock.monotonicMs()
      const value = waitMs > 0 ? await gather(result.value, waitMs) : result.value
      lastMs = clock.monotonicMs()
      return { done: false, value }
    },
    async return() {
      return (await output.return?.()) ?? { done: true, value: undefined }
    },
  }
  return outputs
}

type Written = Extract<ExecOutput, { readonly data: Uint8Array }>
