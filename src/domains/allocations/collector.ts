/** The leader forgets what is over, a little at a time. */
import { proposable, type Key, type Reader } from '../../fsm/domain.ts'
import { delay } from '../../lib/async.ts'
import { chunks } from '../../lib/chunks.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import { endedDeployments } from '../deployments/queries.ts'
import type { DutyContext } from '../duty.ts'
import type { JobKey } from '../evaluations/model.ts'
import { endedEvaluations, hasOpenEvaluation } from '../evaluations/queries.ts'
import { onView } from '../host.ts'
import { jobsOver, versionKeys, type SeenJob, type VersionKey } from '../jobs/queries.ts'
import {
  collectedMax,
  collectEnded,
  collectVersions,
  isCollectable,
  isUnused,
} from './collect-commands.ts'
import { isClientTerminal, type AllocationRow } from './model.ts'
import { allocationsOfJob, endedAllocations, specsOf } from './queries.ts'
import { mayRunUntilMs } from './window-model.ts'

/** Of the domain `jobs`. */
const collectJobs = proposable<{ readonly jobs: readonly SeenJob[] }, { readonly count: number }>(
  'jobs.collect',
)

const roundMs = 300_000
const retryMs = 5_000
/** How long what is over is kept, and jobs that are, as by Nomad. */
const keptMs = 3_600_000
const jobsKeptMs = 4 * 3_600_000
/** Candidates that are read at a time. */
const candidatesMax = 16 * collectedMax
/** Of each all allocations are read. */
const jobsLookedAtMax = 256

/** Where an operator's word goes: to the duty of this server, at once or when it begins. */
export class AllocationCollector {
  #collectNow: (() => void) | null = null
  #isAsked = false

  start(context: DutyContext): Running {
    const collection = new Collection(context)
    this.#collectNow = () => collection.collectNow()
    if (this.#isAsked) this.collectNow()
    return {
      stop: () => {
        this.#collectNow = null
        return collection.stop()
      },
    }
  }

  /** All that is over, however new. Goes on after it returned. */
  collectNow(): void {
    this.#isAsked = this.#collectNow === null
    this.#collectNow?.()
  }
}

class Collection implements Running {
  readonly #context: DutyContext
  readonly #rounds: ReturnType<typeof periodic>
  #all = false

  constructor(context: DutyContext) {
    this.#context = context
    this.#rounds = periodic({
      clock: context.clock,
      log: context.log,
      failure: 'what is over could not be collected',
      firstMs: retryMs,
      everyMs: roundMs,
      retryMs,
      round: (signal) => this.#round(signal),
    })
  }

  collectNow(): void {
    this.#all = true
    this.#rounds.wake()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { clock, propose } = this.#context
    const nowMs = Math.floor(clock.wallMs())
    const before = (keptFor: number): number => Math.max(0, nowMs - keptFor)
    const [beforeMs, jobsBeforeMs] = this.#all
      ? [nowMs, nowMs]
      : [before(keptMs), before(jobsKeptMs)]
    this.#all = false
    const ended = (what: What): Promise<number> => {
      const none = { allocations: [], evaluations: [] }
      return this.#collect(
        signal,
        (reader, from) => candidates(reader, what, from, { beforeMs, nowMs }),
        (ids) => propose(collectEnded, { ...none, [what]: [...ids], beforeMs }),
      )
    }
    // What a job leaves behind follows it.
    const count =
      (await this.#collect(
        signal,
        (reader, from) => oldJobs(reader, from, { beforeMs: jobsBeforeMs, nowMs }),
        (jobs) => propose(collectJobs, { jobs }),
      )) +
      (await ended('allocations')) +
      (await ended('evaluations')) +
      (await ended('deployments')) +
      (await this.#collect(signal, oldVersions, (versions) =>
        propose(collectVersions, { versions: [...versions] }),
      ))
    if (count > 0) this.#context.log.info('what is over was collected', { count })
  }

  /** In entries of bounded size, each followed by a pause as long as it took. Resolves to how many. */
  async #collect<Item>(
    signal: AbortSignal,
    find: (reader: Reader, from: Key | null) => Promise<Found<Item>>,
    collect: (part: readonly Item[]) => Promise<{ readonly outcome: { readonly count: number } }>,
  ): Promise<number> {
    const { clock, view } = this.#context
    let count = 0
    let from: Key | null = null
    do {
      const found: Found<Item> = await onView(view, (reader) => find(reader, from))
      for (const part of chunks(found.some, collectedMax)) {
        if (signal.aborted) break
        const beganMs = clock.monotonicMs()
        count += (await collect(part)).outcome.count
        await delay(clock, clock.monotonicMs() - beganMs, signal)
      }
      from = found.next
    } while (from !== null && !signal.aborted)
    return count
  }
}

const endedBy = {
  allocations: endedAllocations,
  evaluations: endedEvaluations,
  deployments: endedDeployments,
} as const

type What = keyof typeof endedBy

/** `beforeMs`: what changed later stays. */
type Times = { readonly beforeMs: number; readonly nowMs: number }

async function candidates(
  reader: Reader,
  what: What,
  from: Key | null,
  { beforeMs, nowMs }: Times,
): Promise<Found<string>> {
  const specOf = specsOf(reader)
  const goes = (row: AllocationRow): boolean =>
    isCollectable(reader, row, beforeMs) && mayRunUntilMs(row, specOf) <= nowMs
  const some: string[] = []
  let looked = 0
  for await (const page of endedBy[what](reader, from)) {
    for (const row of page) {
      if (row.modifyMs > beforeMs) return { some, next: null }
      if (looked === candidatesMax) return { some, next: [row.modifyMs, row.id] }
      looked += 1
      if (!('clientStatus' in row) || goes(row)) some.push(row.id)
    }
  }
  return { some, next: null }
}

/** `next`: where the index goes on; null: nowhere. */
type Found<Item> = { readonly some: readonly Item[]; readonly next: Key | null }

/** Jobs that are over for so long, with all that they ran. */
async function oldJobs(reader: Reader, from: Key | null, times: Times): Promise<Found<SeenJob>> {
  const some: SeenJob[] = []
  let looked = 0
  for await (const page of jobsOver(reader, from)) {
    for (const { namespace, id, submitMs, modifyIndex } of page) {
      if (submitMs > times.beforeMs) return { some, next: null }
      if (looked === jobsLookedAtMax) return { some, next: [submitMs, namespace, id] }
      looked += 1
      const key = { namespace, jobId: id }
      if (await isQuiet(reader, key, times)) some.push({ namespace, id, modifyIndex })
    }
  }
  return { some, next: null }
}

/** Registered again at once, it must know what of it may still run. */
async function isQuiet(reader: Reader, key: JobKey, { beforeMs, nowMs }: Times): Promise<boolean> {
  if (await hasOpenEvaluation(reader, key, new Set())) return false
  const specOf = specsOf(reader)
  for await (const page of allocationsOfJob(reader, key)) {
    const isNew = page.some(
      (one) =>
        !isClientTerminal(one) || one.modifyMs > beforeMs || mayRunUntilMs(one, specOf) > nowMs,
    )
    if (isNew) return false
  }
  return true
}

/** As many as one round takes. */
async function oldVersions(reader: Reader): Promise<Found<VersionKey>> {
  const some: VersionKey[] = []
  for await (const page of versionKeys(reader)) {
    for (const key of page) {
      if (await isUnused(reader, key)) some.push(key)
      if (some.length === candidatesMax) return { some, next: null }
    }
  }
  return { some, next: null }
}
