/** When a check restarts its task. */
import t from 'tap'
import {
  afterLook,
  restartRulesOf,
  type RestartRules,
  type UnhealthyLooks,
} from '../../../src/client-agent/runner/check-restart.ts'
import type { CheckStatus } from '../../../src/domains/catalog/model.ts'

const rules: RestartRules = { limit: 3, graceMs: 1_000, ignoresWarnings: false }
const letters: Readonly<Record<string, CheckStatus>> = {
  p: 'passing',
  w: 'warning',
  c: 'critical',
}

/** A look each 500 ms, the first at 500, of a task that is up since 0; `-`: the task is not up, `R`: it started just now. */
function restartsAt(looks: string, own: Partial<RestartRules> = {}): readonly number[] {
  let before: UnhealthyLooks | null = null
  let upSinceMs: number | null = 0
  return looks.split('').flatMap((letter, at) => {
    const nowMs = (at + 1) * 500
    if (letter === 'R') upSinceMs = nowMs
    const seen = { status: letters[letter] ?? 'critical', nowMs }
    const { looks: after, restarts } = afterLook(
      before,
      { ...rules, ...own },
      { ...seen, upSinceMs: letter === '-' ? null : upSinceMs },
    )
    before = after
    return restarts ? [nowMs] : []
  })
}

t.test('so many unhealthy looks in a row restart, after the grace', async (t) => {
  const rows: readonly (readonly [string, Partial<RestartRules>, readonly number[]])[] = [
    ['ccccc', {}, [2_000]],
    ['cccc', { limit: 1 }, [1_000, 1_500, 2_000]],
    ['cccc', { graceMs: 0 }, [1_500]],
    ['ccccc', { graceMs: 10_000 }, []],
    ['pccpccp', {}, []],
    ['pccpccc', {}, [3_500]],
    ['pwcw', {}, [2_000]],
    ['pcwcc', { ignoresWarnings: true }, []],
    ['pcwccc', { ignoresWarnings: true }, [3_000]],
    ['pcc-cc', {}, []],
    ['pcc-ccc', {}, [3_500]],
    ['pccRcccc', {}, [4_000]],
    ['pccccccc', { limit: 2 }, [1_500, 2_500, 3_500]],
  ]
  for (const [looks, own, wanted] of rows) {
    t.strictSame(restartsAt(looks, own), wanted, `${looks} ${JSON.stringify(own)}`)
  }
})

t.test('a block without a limit restarts nothing', async (t) => {
  const block = { Limit: 2, Grace: 90e9, IgnoreWarnings: true }
  t.strictSame(restartRulesOf(block), { limit: 2, graceMs: 90_000, ignoresWarnings: true })
  t.equal(restartRulesOf({ ...block, Limit: 0 }), null)
  t.equal(restartRulesOf(null), null)
})
