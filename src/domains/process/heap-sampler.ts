/**
 * V8's sampling heap profiler, kept running: only objects that were made while it ran can be told, so it begins with the
 * server. It costs an allocation-heavy program about three per cent, which is why it runs only where debugging is on.
 *
 * V8 has one for all: a request with other settings interrupts it, and what was sampled until then is forgotten.
 */
import { Session, type HeapProfiler } from 'node:inspector/promises'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { StackProfile } from './pprof.ts'
import { heapStacks } from './stacks.ts'

/** One sample for this much allocated memory, on average; while it always runs, and for a short time. */
const alwaysIntervalBytes = 128 * 1024
const briefIntervalBytes = 32 * 1024

type Sampling = { readonly session: Session; readonly wallMs: number; readonly monotonicMs: number }

export class HeapSampler {
  readonly #clock: Clock
  #sampling: Sampling | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does nothing while it runs. */
  async start(): Promise<void> {
    this.#sampling ??= await this.#begin({ samplingInterval: alwaysIntervalBytes })
  }

  /** Also when it does not run. */
  stop(): void {
    this.#sampling?.session.disconnect()
    this.#sampling = null
  }

  /** What is in use of all that was allocated since the start; with `elapsed`, of what is allocated until it resolves. */
  async inUse(elapsed: (() => Promise<void>) | null): Promise<StackProfile> {
    await this.start()
    const sampling = this.#sampling
    if (sampling === null) throw stopped()
    const wallMs = elapsed === null ? sampling.wallMs : this.#clock.wallMs()
    const sinceMs = elapsed === null ? sampling.monotonicMs : this.#clock.monotonicMs()
    let before = 0
    if (elapsed !== null) {
      for (const { ordinal } of (await this.#read(sampling)).samples) {
        before = Math.max(before, ordinal)
      }
      await elapsed()
    }
    return {
      ...shape('inuse_space', alwaysIntervalBytes),
      stacks: heapStacks(await this.#read(sampling), before),
      startMs: wallMs,
      durationMs: this.#clock.monotonicMs() - sinceMs,
    }
  }

  /** All that is allocated until `elapsed` resolves, whether or not it is collected meanwhile. */
  async allocated(elapsed: () => Promise<void>): Promise<StackProfile> {
    const goesOn = this.#sampling !== null
    this.stop()
    const { session, wallMs, monotonicMs } = await this.#begin({
      samplingInterval: briefIntervalBytes,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    try {
      await elapsed()
      const { profile } = await session.post('HeapProfiler.stopSampling')
      return {
        ...shape('alloc_space', briefIntervalBytes),
        stacks: heapStacks(profile, 0),
        startMs: wallMs,
        durationMs: this.#clock.monotonicMs() - monotonicMs,
      }
    } finally {
      session.disconnect()
      if (goesOn) await this.start()
    }
  }

  async #begin(options: HeapProfiler.StartSamplingParameterType): Promise<Sampling> {
    const session = new Session()
    session.connect()
    try {
      await session.post('HeapProfiler.enable')
      await session.post('HeapProfiler.startSampling', options)
    } catch (error) {
      session.disconnect()
      throw error
    }
    return { session, wallMs: this.#clock.wallMs(), monotonicMs: this.#clock.monotonicMs() }
  }

  async #read({ session }: Sampling): Promise<HeapProfiler.SamplingHeapProfile> {
    try {
      return (await session.post('HeapProfiler.getSamplingProfile')).profile
    } catch {
      // Another debugger of this process, or the end of the server, took it: the next request begins anew.
      this.stop()
      throw stopped()
    }
  }
}

function stopped(): MusterError {
  return new MusterError('unavailable', 'the heap is not sampled any more, try again')
}

function shape(type: string, intervalBytes: number) {
  return {
    valueTypes: [
      { type: 'samples', unit: 'count' },
      { type, unit: 'bytes' },
    ],
    period: { type: 'space', unit: 'bytes', value: intervalBytes },
  }
}
