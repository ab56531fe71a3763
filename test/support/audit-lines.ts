/** What agents under test wrote into their audit logs. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerProcess } from './server-process.ts'

export type AuditLine = Readonly<Record<string, unknown>>

export function auditFolder(agent: ServerProcess): string {
  return join(agent.dataFolder, 'audit')
}

/** All that is written of it, rotated files first. */
export async function auditText(agent: ServerProcess): Promise<string> {
  const folder = auditFolder(agent)
  const names = (await readdir(folder)).toSorted((left, right) =>
    left === 'audit.log' ? 1 : right === 'audit.log' ? -1 : left < right ? -1 : 1,
  )
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.join('')
}

export async function auditLines(agent: ServerProcess): Promise<readonly AuditLine[]> {
  const text = await auditText(agent)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditLine)
}
