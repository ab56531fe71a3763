/** What a container takes of the machine, as the daemon measures it. */
import type { ResourceUse } from '../driver.ts'
import { parsed, Stats } from './answers.ts'
import type { Engine } from './engine.ts'

/** The daemon takes two looks, a second apart. */
const statsMs = 5_000

/** Rejects where the daemon does not say. */
export async function usageOf(engine: Engine, id: string): Promise<ResourceUse> {
  const answer = await engine.ask({
    method: 'GET',
    path: `/containers/${id}/stats`,
    query: { stream: 'false' },
    timeoutMs: statsMs,
  })
  const { cpu_stats: now, precpu_stats: before, memory_stats: memory } = parsed(Stats, answer)
  const elapsed = (now.system_cpu_usage ?? 0) - (before?.system_cpu_usage ?? 0)
  const whole = 100 * (now.online_cpus ?? 1)
  const percent = (used: number, earlier = 0): number =>
    elapsed <= 0 ? 0 : (whole * Math.max(0, used - earlier)) / elapsed
  const { cpu_usage: used } = now
  const earlier = before?.cpu_usage
  return {
    percent: percent(used.total_usage, earlier?.total_usage),
    userPercent: percent(used.usage_in_usermode ?? 0, earlier?.usage_in_usermode),
    systemPercent: percent(used.usage_in_kernelmode ?? 0, earlier?.usage_in_kernelmode),
    rssBytes: residentBytes(memory),
    swapBytes: 0,
  }
}

/** As Docker's own tool counts it: without what the kernel may give back at once. */
function residentBytes({ usage = 0, stats = {} }: Stats['memory_stats']): number {
  const cache = stats['inactive_file'] ?? stats['total_inactive_file']
  return typeof cache === 'number' && cache <= usage ? usage - cache : usage
}
