/** What a task or a file holds: exactly its bytes in a pipe; on a terminal a text that cannot steer it. */
import type { Terminal } from '../verb.ts'
import { visibleLines } from './table.ts'

/** Ends early when nobody takes the output any more. */
export async function showOutput(
  terminal: Terminal,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const decoder = new TextDecoder()
  for await (const part of parts) {
    if (terminal.outIsGone()) return
    if (part.length === 0) continue
    const shown = (): string => visibleLines(decoder.decode(part, { stream: true }))
    terminal.out(terminal.outIsTerminal ? shown() : part)
    await terminal.flushed()
  }
}
