/** What the load generator is told and what it tells. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export type LoadPlan = {
  readonly port: number
  readonly concurrency: number
  readonly warmupMs: number
  readonly durationMs: number
  /** Whole HTTP requests, sent in turn. */
  readonly requests: readonly string[]
}

export type Figures = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of each whole or begun second; 0 where nothing was answered. */
  readonly p50BySecondMs: readonly number[]
  /** Replies other than 200, and broken connections. */
  readonly errors: number
  readonly firstError: string
}

/** Beside what the load generator saw, what the servers spent on it. */
export type Round = Figures & {
  /** Processor time of all members together for each answered request, in µs, the warm-up taken for as busy as the rest. */
  readonly cpuUs: number
}

const generator = new URL('./load.ts', import.meta.url).pathname

/** Throws if more than one request in a hundred failed: such a figure says nothing. */
export async function runLoad(plan: LoadPlan): Promise<Figures> {
  const running = promisify(execFile)(process.execPath, [generator])
  running.child.stdin?.end(JSON.stringify(plan))
  const { stdout } = await running
  const figures = JSON.parse(stdout) as Figures
  const answered = (figures.perSecond * plan.durationMs) / 1000
  if (answered === 0 || figures.errors > answered / 100) {
    throw new Error(`${figures.errors} failed, ${answered} answered: ${figures.firstError}`)
  }
  return figures
}

/** The middle one by requests a second. */
export function middle(rounds: readonly Round[]): Round {
  const sorted = [...rounds].sort((a, b) => a.perSecond - b.perSecond)
  const found = sorted[sorted.length >> 1]
  if (found === undefined) throw new RangeError('no rounds')
  return found
}

/** NaN of none. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
}
