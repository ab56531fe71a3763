/** What a server process takes, as the system counts it, and what it tells of itself. */
import { readFile } from 'node:fs/promises'

export type Used = {
  readonly residentMiB: number
  /** Of those: without the pages of files, which the system takes back when it needs them. */
  readonly ownMiB: number
  /** Since it started. */
  readonly peakMiB: number
  readonly cpuSeconds: number
}

const ticksPerSecond = 100

export async function usedBy(pid: number): Promise<Used> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const mebibytesOf = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN) / 1024
  // Behind the name, which may have anything in it: user and system time are the twelfth and thirteenth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    residentMiB: mebibytesOf('VmRSS'),
    ownMiB: mebibytesOf('RssAnon'),
    peakMiB: mebibytesOf('VmHWM'),
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
  }
}

/** Of an ops listener: a number by its name, with the labels it has. */
export async function metricsOf(opsPort: number): Promise<(name: string) => number> {
  const reply = await fetch(`http://127.0.0.1:${opsPort}/metrics`)
  const lines = (await reply.text()).split('\n')
  return (name) =>
    Number(
      lines
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    )
}
