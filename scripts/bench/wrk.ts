/** Load by `wrk`: it takes a third of the processor time of `load.ts`, which servers on the same cores then have. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Figures, LoadPlan } from './plan.ts'

const binary = '/usr/bin/wrk'
const script = new URL('./wrk.lua', import.meta.url).pathname

/** What `wrk.lua` tells. */
type Told = {
  readonly answered: number
  readonly microseconds: number
  readonly p50: number
  readonly p99: number
  readonly status: number
  readonly broken: number
}

export const wrkIsInstalled = existsSync(binary)

/** `wrk` counts whole seconds: both times of the plan are rounded up. It does not tell figures by the second, nor an answer's text. */
export async function runWrk(plan: LoadPlan): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-wrk-'))
  try {
    const file = join(folder, 'requests')
    await writeFile(
      file,
      plan.requests.map((text) => `${Buffer.byteLength(text)}\n${text}`).join(''),
    )
    if (plan.warmupMs > 0) await run(plan, file, plan.warmupMs)
    const told = await run(plan, file, plan.durationMs)
    const errors = told.status + told.broken
    return {
      perSecond: (told.answered * 1e6) / told.microseconds,
      p50Ms: told.p50 / 1e3,
      p99Ms: told.p99 / 1e3,
      p50BySecondMs: [],
      errors,
      firstError: errors === 0 ? '' : `${told.status} by status, ${told.broken} broken`,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(plan: LoadPlan, file: string, ms: number): Promise<Told> {
  const { stdout } = await promisify(execFile)(
    binary,
    [
      '--threads=1',
      `--connections=${plan.concurrency}`,
      `--duration=${Math.ceil(ms / 1000)}s`,
      `--script=${script}`,
      `http://127.0.0.1:${plan.port}/`,
    ],
    { env: { ...process.env, WRK_REQUESTS: file } },
  )
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Told
}
