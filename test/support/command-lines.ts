/** Processes of this machine by their words, whatever their environment says. */
import { readdir, readFile } from 'node:fs/promises'

/** How many there are of exactly these words. One that ended has none. */
export async function countOf(...words: readonly string[]): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  const wanted = words.map((word) => `${word}\0`).join('')
  return lines.filter((line) => line === wanted).length
}
