/**
 * Conversations as text files. Lines at the margin are commands, indented ones are what they caused, `#` is prose. A test
 * runs the commands and compares; `TAP_SNAPSHOT=1` writes the conversations anew.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'

/** Performs one command, and returns what was said and done; called with the commands of one script, in order. */
export type Performer = (words: readonly string[]) => readonly string[]

/** The script with every command's conversation as it is now. Throws for a command that fails, with its line. */
export function runScript(script: string, perform: Performer): string {
  const lines: string[] = []
  for (const [at, line] of script.split('\n').entries()) {
    if (/^\s+\S/.test(line)) continue
    lines.push(line)
    if (line === '' || line.startsWith('#')) continue
    try {
      lines.push(...perform(line.split(/\s+/)).map((told) => `  ${told}`))
    } catch (error) {
      throw new Error(`line ${at + 1}, ${line}`, { cause: error })
    }
  }
  return lines.join('\n')
}

/** One test for each script of the folder. */
export async function checkTraces(folder: URL, run: (script: string) => string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).toSorted()
  for (const name of names) {
    void t.test(name.replace('.txt', '').replaceAll('-', ' '), async (t) => {
      const file = new URL(name, folder)
      const script = await readFile(file, 'utf8')
      const now = run(script)
      if (process.env['TAP_SNAPSHOT'] === '1') await writeFile(file, now)
      else t.equal(now, script, 'TAP_SNAPSHOT=1 writes it anew')
    })
  }
}
