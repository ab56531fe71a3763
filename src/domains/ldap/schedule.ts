/** When passwords of service accounts are replaced: cron expressions with the five plain fields, in UTC. */
import { parseCron, type Cron } from '../../lib/cron.ts'

/** Null: the text is no schedule. */
export function scheduleOf(text: string): Cron | null {
  const cron = parseCron(text)
  return typeof cron === 'string' || !cron.isPlain ? null : cron
}
