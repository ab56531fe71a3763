/**
 * Servers and client agents are broken while jobs are registered, changed, stopped and purged. Only
 * `npm run test:long` runs it, for forty seconds. WORKLOAD_CHAOS_SECONDS and FUZZ_SEED make it longer, and repeat it.
 */
import t from 'tap'
import { runWorkChaos } from '../chaos/work-run.ts'
import { amount, seed } from '../support/randomness.ts'

const seconds = amount('WORKLOAD_CHAOS_SECONDS', { gate: 40, long: 40 })
t.setTimeout((seconds + 300) * 1_000)

t.test(`work comes to rest as clients were told, seed ${seed}`, async (t) => {
  const report = await runWorkChaos(t, { durationMs: seconds * 1_000, seed })
  const { failures, ...seen } = report
  t.comment(JSON.stringify(seen))
  for (const failure of failures) t.fail(failure)
  t.ok(report.looks > seconds / 2, `${report.looks} looks at all allocations`)
  t.ok(report.registered > 0, `${report.registered} jobs were registered once`)
})
