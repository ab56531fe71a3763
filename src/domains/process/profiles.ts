/**
 * Profiles of this process, by the names that tools ask for. One of a kind at a time: V8 has one profiler of each.
 *
 * What other runtimes call `goroutine` is here what the event loop waits for; `block` and `mutex` have no counterpart,
 * as one thread runs all code and takes no locks.
 */
import { readdir, readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { profileTypes } from './answer-model.ts'
import type { HeapSampler } from './heap-sampler.ts'
import { encodePprof, pprofText, type Stack, type StackProfile } from './pprof.ts'
import { cpuStacks } from './stacks.ts'
import { recordTrace } from './trace.ts'

export type ProfileRequest = {
  readonly name: string
  /** How long to look; null: as is usual for it. */
  readonly seconds: number | null
  /** Text for people instead of the format of viewers. */
  readonly asText: boolean
}

export type ProfileResult = {
  readonly type: typeof binary | typeof plain
  readonly bytes: Uint8Array
}

/** V8 looks at the stack this often. */
const cpuIntervalUs = 1_000
export const profileSecondsDefault = 3

const { binary, plain } = profileTypes

const recipes = {
  profile: cpu,
  trace: recordTrace,
  heap: ({ heap, seconds, elapsed }: RecipeOptions) =>
    heap.inUse(seconds === null ? null : elapsed),
  allocs: ({ heap, elapsed }: RecipeOptions) => heap.allocated(elapsed),
  goroutine: waiting,
  threadcreate: threads,
} as const satisfies Record<string, (options: RecipeOptions) => Promise<StackProfile | Uint8Array>>

export type ProfileName = keyof typeof recipes

export type RecipeOptions = {
  readonly clock: Clock
  readonly heap: HeapSampler
  readonly seconds: number | null
  /** Resolves after the profile's time, or at once when the caller goes away. */
  readonly elapsed: () => Promise<void>
}

const withoutCounterpart: readonly string[] = ['block', 'mutex']

export class Profiles {
  readonly #clock: Clock
  readonly #heap: HeapSampler
  readonly #running = new Set<ProfileName>()

  constructor(clock: Clock, heap: HeapSampler) {
    this.#clock = clock
    this.#heap = heap
  }

  /**
   * Throws `not_found` for a name nobody has, `not_implemented`, `conflict` while one is taken by the same profiler of
   * V8, `cancelled`.
   */
  async take(request: ProfileRequest, signal: AbortSignal): Promise<ProfileResult> {
    const { name, seconds, asText } = request
    if (name === 'cmdline') return { type: plain, bytes: Buffer.from(process.argv.join('\0')) }
    if (!isProfileName(name)) throw noSuchProfile(name)
    const busy = rivalsOf(name).find((rival) => this.#running.has(rival))
    if (busy !== undefined) {
      throw new MusterError('conflict', `${busy} is being taken here already, try again after it`)
    }
    this.#running.add(name)
    try {
      const ms = (seconds ?? profileSecondsDefault) * 1_000
      const elapsed = () => delay(this.#clock, ms, signal)
      const taken = await recipes[name]({ clock: this.#clock, heap: this.#heap, seconds, elapsed })
      if (signal.aborted) throw new MusterError('cancelled', 'the caller went away')
      if (taken instanceof Uint8Array) return { type: asText ? plain : binary, bytes: taken }
      if (!asText) return { type: binary, bytes: await encodePprof(taken) }
      const text = name === 'heap' || name === 'allocs' ? memoryText() : ''
      return { type: plain, bytes: Buffer.from(text + pprofText(taken)) }
    } finally {
      this.#running.delete(name)
    }
  }
}

function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(recipes, name)
}

/** Who has the profiler that this one needs. */
function rivalsOf(name: ProfileName): readonly ProfileName[] {
  return name === 'heap' || name === 'allocs' ? ['heap', 'allocs'] : [name]
}

function noSuchProfile(name: string): MusterError {
  const known = ['cmdline', ...Object.keys(recipes)].join(', ')
  if (withoutCounterpart.includes(name)) {
    const text = `${name} cannot be profiled: one thread runs all code here and takes no locks; there are ${known}`
    return new MusterError('not_implemented', text)
  }
  const shown = JSON.stringify(name.slice(0, 100))
  return new MusterError('not_found', `there is no profile ${shown}; there are ${known}`)
}

async function cpu({ clock, elapsed }: RecipeOptions): Promise<StackProfile> {
  return inSession(async (session) => {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: cpuIntervalUs })
    const startMs = clock.wallMs()
    const sinceMs = clock.monotonicMs()
    await session.post('Profiler.start')
    await elapsed()
    const { profile } = await session.post('Profiler.stop')
    const time = { type: 'cpu', unit: 'nanoseconds' }
    return {
      valueTypes: [{ type: 'samples', unit: 'count' }, time],
      stacks: cpuStacks(profile),
      period: { ...time, value: cpuIntervalUs * 1_000 },
      startMs,
      durationMs: clock.monotonicMs() - sinceMs,
    }
  })
}

/** What keeps the event loop: sockets, timers, requests under way. */
async function waiting({ clock }: RecipeOptions): Promise<StackProfile> {
  return counted('goroutine', clock, process.getActiveResourcesInfo())
}

/** Threads of the process by the names they gave themselves; empty where the system does not tell. */
async function threads({ clock }: RecipeOptions): Promise<StackProfile> {
  const folder = '/proc/self/task'
  const ids = await readdir(folder).catch(() => [])
  const names = await Promise.all(
    ids.map((id) => readFile(`${folder}/${id}/comm`, 'utf8').catch(() => '')),
  )
  return counted(
    'threadcreate',
    clock,
    names.map((name) => name.trim()).filter((name) => name !== ''),
  )
}

function counted(type: string, clock: Clock, names: readonly string[]): StackProfile {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const stacks = [...counts].map(([functionName, count]): Stack => ({
    frames: [{ functionName, url: '', lineNumber: -1 }],
    values: [count],
  }))
  const kind = { type, unit: 'count' }
  return {
    valueTypes: [kind],
    stacks,
    period: { ...kind, value: 1 },
    startMs: clock.wallMs(),
    durationMs: 0,
  }
}

function memoryText(): string {
  const rows: (readonly [string, number])[] = [
    ...Object.entries(process.memoryUsage()),
    ...getHeapSpaceStatistics().map(
      ({ space_name: name, space_used_size: size }) => [name, size] as const,
    ),
  ]
  const lines = rows.map(([name, bytes]) => `${String(bytes).padStart(14)}  ${name}\n`)
  return `bytes in use by the process, and of its heap's spaces\n${lines.join('')}\n`
}

async function inSession<Value>(run: (session: Session) => Promise<Value>): Promise<Value> {
  const session = new Session()
  session.connect()
  try {
    return await run(session)
  } finally {
    session.disconnect()
  }
}
