/** Lines for systemd's journal: it takes the level from the front of each, as sd-daemon(3) has it, and does not show that. */
import { fstatSync } from 'node:fs'
import type { LogLevel } from '../lib/log.ts'

export const journalMarks: Readonly<Record<LogLevel, string>> = {
  error: '<3>',
  warn: '<4>',
  info: '<6>',
  debug: '<7>',
  trace: '<7>',
}

/** Whether what is written to the descriptor goes there: systemd names the journal's device and inode. */
export function writesToJournal(env: NodeJS.ProcessEnv, descriptor: number): boolean {
  const named = env['JOURNAL_STREAM']
  if (named === undefined) return false
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return named === `${dev}:${ino}`
  } catch {
    return false
  }
}

/** Each line of why a process failed. They end where the journal's do, at line feeds alone. */
export function markLines(text: string): string {
  const lines = text.split('\n')
  return lines.map((line) => (line === '' ? '' : `${journalMarks.error}${line}`)).join('\n')
}
