/** What templates with `env = true` add to the environment of their task. */
import { placeOfTask, type SetupOf } from '../setup-of.ts'
import { readTaskFile } from '../task-files.ts'
import { parseEnvLines } from './env-lines.ts'

const bytesMax = 4 * 1024 * 1024

/** As their files are now: so it is known after a restart of the agent too. */
export async function envOfTemplates(setup: SetupOf): Promise<ReadonlyMap<string, string>> {
  const env = new Map<string, string>()
  const templates = setup.task.Templates.filter(({ Envvars }) => Envvars)
  if (templates.length === 0) return env
  for (const { DestPath } of templates) {
    const place = placeOfTask(setup, DestPath, `template of ${DestPath}`)
    const text = await readTaskFile(place, bytesMax)
    for (const [name, value] of text === null ? [] : parseEnvLines(text)) env.set(name, value)
  }
  return env
}
