/**
 * The simulator over many seeds, and that a seed replays exactly. A failure names its seed:
 * `npm run sim -- --seed N --verbose` shows the whole run. SEEDS=A..B runs others.
 */
import t, { type Test } from 'tap'
import { seedRanges } from '../support/randomness.ts'
import { describeFailure, describeTally, runSeedsInJobs } from './report.ts'
import { runSeed } from './run.ts'

const jobs = 2

void t.test('the same seed gives the same run, event by event', async (t) => {
  const logOf = async (seed: number) => {
    const lines: string[] = []
    await runSeed(seed, { sink: (line) => lines.push(line) })
    return lines
  }
  for (const seed of [1, 42]) {
    const once = await logOf(seed)
    t.ok(once.length > 1_000, `seed ${seed} has a log`)
    t.equal((await logOf(seed)).join('\n'), once.join('\n'), `seed ${seed} replays exactly`)
  }
})

for (const [first, last] of seedRanges('SEEDS', { gate: 70, long: 40 })) {
  const name = `every rule of the protocol holds in every seed from ${first} to ${last}`
  void t.test(name, { timeout: 600_000 }, (t) => everyRuleHolds(t, first, last))
}

void t.test('every rule holds in the corners that seeds are not drawn to', async (t) => {
  for (const corner of ['installs', 'members', 'handovers'] as const) {
    const seeds = { first: 1, last: 8, step: 1, servers: null, corner, failuresMax: 3 }
    const tally = await runSeedsInJobs(seeds, jobs)
    for (const failure of tally.failures) t.fail(`${corner}: ${describeFailure(failure, 30)}`)
    t.equal(tally.runs, 8, corner)
  }
})

async function everyRuleHolds(t: Test, first: number, last: number): Promise<void> {
  const startMs = performance.now()
  const seeds = { first, last, step: 1, servers: null, corner: null, failuresMax: 3 }
  const tally = await runSeedsInJobs(seeds, jobs)
  t.comment(describeTally(tally, performance.now() - startMs))
  for (const failure of tally.failures) t.fail(describeFailure(failure, 30))
  t.equal(tally.runs, last - first + 1, 'every seed was run')
  // Seeds that nobody has run are to find faults; how often each thing happens in them is random.
  if (first !== 1) return
  // A world in which nothing goes wrong proves nothing.
  for (const what of [
    'elections',
    'power losses',
    'kills',
    'snapshots installed',
    'compactions',
    'truncations',
    'members: addLearner',
    'members: promote',
    'members: remove',
    'transfer ok',
    'writes lost or torn',
    'put unknown',
    'disks full or read-only',
  ]) {
    const least = Math.floor(tally.runs / 7)
    t.ok((tally.counts.get(what) ?? 0) > least, `${what} happened often enough to be a test`)
  }
}
