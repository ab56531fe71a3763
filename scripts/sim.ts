/**
 * `npm run sim`: runs the simulator over seeds, or replays one.
 *
 *   npm run sim -- --seeds 1..2000 [--servers N] [--jobs N] [--failures N] [--verbose]
 *   npm run sim -- --corner lease              all seeds look into this corner: mixed, divergence, lease,
 *                                              court, installs, members
 *   npm run sim -- --seed 123 --verbose        prints every event of that run
 *   npm run sim -- --mutants [NAME]            plants known bugs and tells which seed caught each
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { runMutants } from '../test/sim/mutation.ts'
import { isCorner } from '../test/sim/plan.ts'
import { describeFailure, describeTally, runSeedsInJobs } from '../test/sim/report.ts'
import { runSeed } from '../test/sim/run.ts'

const usage =
  'usage: npm run sim -- [--seeds A..B | --seed N | --mutants [NAME]] [--servers N] [--corner NAME] [--jobs N] [--failures N] [--verbose]'

/** Shown of a failure unless `--verbose` asks for all that is remembered. */
const eventsShown = 40

function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1..500' },
      seed: { type: 'string' },
      servers: { type: 'string' },
      corner: { type: 'string' },
      jobs: { type: 'string' },
      failures: { type: 'string', default: '1' },
      verbose: { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const servers = values.servers === undefined ? null : numberOf(values.servers)
  const corner = values.corner ?? null
  if (corner !== null && !isCorner(corner)) throw new Error(`no corner ${corner}; ${usage}`)
  const jobs = values.jobs === undefined ? availableParallelism() : numberOf(values.jobs)
  const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds)
  if (range === null) throw new Error(`--seeds ${values.seeds} is not A..B; ${usage}`)
  const [first, last] = [numberOf(range[1] ?? ''), numberOf(range[2] ?? '')]
  if (values.mutants) return runMutants({ first, last, jobs, only: positionals[0] ?? null })
  if (values.seed !== undefined)
    return replay(numberOf(values.seed), { servers, corner }, values.verbose)
  const failuresMax = numberOf(values.failures)
  return sweep({ first, last, step: 1, servers, corner, failuresMax }, jobs, values.verbose)
}

async function replay(
  seed: number,
  options: Pick<Parameters<typeof runSeedsInJobs>[0], 'servers' | 'corner'>,
  verbose: boolean,
): Promise<boolean> {
  const run = await runSeed(seed, {
    ...options,
    ...(verbose ? { sink: (line: string) => console.log(line) } : {}),
  })
  const { violation, lastEvents, counts, simulatedMs, events } = run
  for (const [what, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${what} ${count}`)
  console.log(`${events} events in ${(simulatedMs / 1000).toFixed(1)} simulated seconds`)
  if (violation !== null) console.log(describeFailure({ seed, violation, lastEvents }, eventsShown))
  return violation === null
}

async function sweep(
  seeds: Parameters<typeof runSeedsInJobs>[0],
  jobs: number,
  verbose: boolean,
): Promise<boolean> {
  const startMs = performance.now()
  const tally = await runSeedsInJobs(seeds, jobs)
  console.log(describeTally(tally, performance.now() - startMs))
  const events = verbose ? Infinity : eventsShown
  for (const failure of tally.failures) console.log(`\n${describeFailure(failure, events)}`)
  return tally.failures.length === 0
}

function numberOf(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${text} is no number; ${usage}`)
  return number
}

process.exitCode = (await main()) ? 0 : 1
