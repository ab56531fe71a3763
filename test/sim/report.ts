/** Many runs: one after the other in this process, or spread over child processes; and what to print about them. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Corner } from './plan.ts'
import { runSeed } from './run.ts'
import type { Violation } from './checkers/rule.ts'

export type Failure = {
  readonly seed: number
  readonly violation: Violation
  readonly lastEvents: readonly string[]
}

export type Tally = {
  runs: number
  simulatedMs: number
  events: number
  readonly counts: Map<string, number>
  readonly failures: Failure[]
}

export type Seeds = {
  readonly first: number
  readonly last: number
  /** Every so many-th seed, for sharing the work. */
  readonly step: number
  readonly servers: number | null
  /** Where all seeds look; null: each where it was drawn to. */
  readonly corner: Corner | null
  /** Stops after this many failures. */
  readonly failuresMax: number
}

export function emptyTally(): Tally {
  return { runs: 0, simulatedMs: 0, events: 0, counts: new Map(), failures: [] }
}

export async function runSeeds(seeds: Seeds): Promise<Tally> {
  const tally = emptyTally()
  for (let seed = seeds.first; seed <= seeds.last; seed += seeds.step) {
    const { servers, corner } = seeds
    const run = await runSeed(seed, { servers, corner })
    tally.runs += 1
    tally.simulatedMs += run.simulatedMs
    tally.events += run.events
    for (const [what, count] of run.counts) {
      tally.counts.set(what, (tally.counts.get(what) ?? 0) + count)
    }
    const { violation, lastEvents } = run
    if (violation !== null) tally.failures.push({ seed, violation, lastEvents })
    if (tally.failures.length >= seeds.failuresMax) break
  }
  return tally
}

/** What a child process sends when it is done. */
type Sent = Omit<Tally, 'counts'> & { readonly counts: readonly (readonly [string, number])[] }

/** Spreads the seeds over `jobs` processes. The world of a seed is the same in each. */
export async function runSeedsInJobs(seeds: Seeds, jobs: number): Promise<Tally> {
  if (jobs <= 1) return runSeeds(seeds)
  const shares = Array.from({ length: jobs }, (_, i) => ({
    ...seeds,
    first: seeds.first + i * seeds.step,
    step: seeds.step * jobs,
  }))
  const total = emptyTally()
  for (const sent of await Promise.all(shares.map(inChild))) {
    total.runs += sent.runs
    total.simulatedMs += sent.simulatedMs
    total.events += sent.events
    total.failures.push(...sent.failures)
    for (const [what, count] of sent.counts) {
      total.counts.set(what, (total.counts.get(what) ?? 0) + count)
    }
  }
  total.failures.sort((a, b) => a.seed - b.seed)
  return total
}

function inChild(seeds: Seeds): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(seeds)], {
      // Whatever loaders the parent runs with are of no use to the simulator.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    let sent: Sent | null = null
    child.on('message', (message) => {
      sent = message as Sent
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (sent !== null) resolve(sent)
      else reject(new Error(`the process for seeds from ${seeds.first} ended with code ${code}`))
    })
  })
}

export function describeTally(tally: Tally, wallMs: number): string {
  const rate = (tally.runs / wallMs) * 1000
  const lines = [...tally.counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const width = Math.max(0, ...lines.map(([what]) => what.length))
  return [
    `${tally.runs} runs in ${(wallMs / 1000).toFixed(1)} s: ${rate.toFixed(1)} runs/s, ${(tally.simulatedMs / 1000).toFixed(0)} simulated seconds, ${tally.events} events`,
    ...lines.map(([what, count]) => `  ${what.padEnd(width)} ${count}`),
  ].join('\n')
}

export function describeFailure({ seed, violation, lastEvents }: Failure, events: number): string {
  return [
    `seed ${seed} breaks the rule: ${violation.rule}`,
    ...violation.text.split('\n').map((line) => `  ${line}`),
    ...(events > 0 ? ['the last events:', ...lastEvents.slice(-events)] : []),
    `replay: npm run sim -- --seed ${seed} --verbose`,
  ].join('\n')
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  const tally = await runSeeds(JSON.parse(process.argv[2] ?? '') as Seeds)
  process.send({ ...tally, counts: [...tally.counts] })
  process.disconnect()
}
