/** What the probes saw, in lines. */
import type { Probed } from './probe.ts'

export const tell = (what: string, value: string) => console.log(`${what.padEnd(44)} ${value}`)

/** Of the requests under way between the two moments: median, p99, worst, and when the slowest began. */
export function report(probed: Probed, fromMs: number, toMs: number): void {
  for (const [kind, all] of Object.entries(probed)) {
    const some = all.filter(([atMs, ms]) => atMs + ms >= fromMs && atMs < toMs)
    const times = some.map(([, ms]) => ms).sort((left, right) => left - right)
    const at = (part: number) =>
      (times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? NaN).toFixed(1)
    const failed = some.filter(([, , ok]) => !ok).length
    tell(kind, `${at(0.5)}, ${at(0.99)}, ${at(1)} ms (${times.length} asked, ${failed} failed)`)
    const slowest = some.toSorted((left, right) => right[1] - left[1]).slice(0, 4)
    tell(
      '',
      slowest
        .map(([atMs, ms]) => `${ms.toFixed(0)} at ${((atMs - fromMs) / 1_000).toFixed(1)} s`)
        .join(', '),
    )
  }
}
