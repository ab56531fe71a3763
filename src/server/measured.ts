/** A log and a state machine whose slow steps are timed, in seconds; everything else goes straight through. */
import type { Clock } from '../lib/clock.ts'
import type { StateMachine } from '../raft/state-machine.ts'
import type { LogStore } from '../raft/storage/log-store.ts'

/** What takes a time. `metrics/series.ts` has its form. */
export type Observer = { observe(seconds: number): void }

export function measuredLog(log: LogStore, clock: Clock, append: Observer): LogStore {
  return {
    write: (writes) => timed(clock, append, () => log.write(writes)),
    read: (from, to, bytesMax) => log.read(from, to, bytesMax),
    compact: (snapshot) => log.compact(snapshot),
    reset: (snapshot, hardState) => log.reset(snapshot, hardState),
    stats: () => log.stats(),
    close: () => log.close(),
  }
}

export function measuredMachine(
  machine: StateMachine,
  clock: Clock,
  apply: Observer,
): StateMachine {
  return {
    get appliedIndex() {
      return machine.appliedIndex
    },
    get installedIndex() {
      return machine.installedIndex
    },
    apply: (entries) => timed(clock, apply, () => machine.apply(entries)),
    flush: () => machine.flush(),
    snapshot: () => machine.snapshot(),
    stage: (id, meta) => machine.stage(id, meta),
    install: (meta) => machine.install(meta),
    close: () => machine.close(),
  }
}

/** What fails ends the process: it is not counted. */
async function timed<T>(clock: Clock, observer: Observer, run: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs()
  const result = await run()
  observer.observe((clock.monotonicMs() - startMs) / 1000)
  return result
}
