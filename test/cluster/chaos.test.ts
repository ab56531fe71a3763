/** A short run of what `npm run chaos` does at length: every fault about once, and then the judgement. */
import t from 'tap'
import { seed } from '../support/randomness.ts'
import { runChaos } from '../chaos/run.ts'

const durationMs = 40_000

void t.test(`clients of a cluster under faults see one register, seed ${seed}`, async (t) => {
  const report = await runChaos({ durationMs, seed, onProgress: (text) => t.comment(text) })
  t.comment(`${report.operationsPerSecond.toFixed(0)} operations a second`, report.outcomes)
  for (const failure of report.failures) t.fail(failure)
  if (report.logs !== '') t.comment(report.logs)
  const good = report.history.filter(({ outcome }) => outcome.type === 'ok')
  t.ok(good.length > 100, `${good.length} operations succeeded`)
})
