/** Asks the person at the terminal before something is done that is hard to undo. */
import type { Terminal } from './verb.ts'

const answerLengthMax = 100

/** Only for a terminal: see `inIsTerminal`. */
export async function agrees(terminal: Terminal, question: string): Promise<boolean> {
  terminal.err(`${question} Type "yes" to do it: `)
  let text = ''
  for await (const bytes of terminal.input()) {
    text += Buffer.from(bytes).toString('latin1')
    if (text.includes('\n') || text.length > answerLengthMax) break
  }
  return text.trim() === 'yes'
}
