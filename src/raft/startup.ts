/**
 * What a restart found, made into the core's starting point; and the checks that the log and the state belong together.
 */
import { MusterError } from '../lib/errors.ts'
import type { CoreStart } from './core/start.ts'
import type { LogIndex, Term } from './core/message.ts'
import { supersedes } from './core/succession.ts'
import { TermRuns } from './core/term-runs.ts'
import type { RaftNodeOptions } from './raft.ts'
import type { StateMachine } from './state-machine.ts'
import type { RecoveredLog } from './storage/log-store.ts'

type State = Pick<StateMachine, 'appliedIndex' | 'installedIndex' | 'flush'>

/**
 * `follows`: the log goes on from the state. `installed`: the state came as a snapshot, and the process ended before the log
 * was started over behind it. The log does not agree with such a state, so it is void, however far it reaches: none of its
 * entries behind the meeting point can be committed. Where it agrees it follows, and its entries may be acknowledged ones.
 * Throws `corrupt` when the state is behind the log's beginning, or ahead of its end without an install to explain it.
 */
export async function logAndState(
  recovered: RecoveredLog,
  machine: State,
): Promise<'follows' | 'installed'> {
  const { snapshot, lastIndex } = recovered
  const { appliedIndex, installedIndex } = machine
  if (appliedIndex < snapshot.index) {
    throw new MusterError(
      'corrupt',
      `the state is at index ${appliedIndex}, but the log begins after ${snapshot.index}: state that was durable is gone; replace this server by an empty one`,
    )
  }
  if (installedIndex === appliedIndex && installedIndex > snapshot.index) {
    const { term } = await machine.flush()
    return termAt(recovered, appliedIndex) === term ? 'follows' : 'installed'
  }
  if (appliedIndex > lastIndex) {
    throw new MusterError(
      'corrupt',
      `the log ends at index ${lastIndex}, but the state has applied ${appliedIndex}: entries that were durable are gone; replace this server by an empty one`,
    )
  }
  return 'follows'
}

/** Of an entry after the log's beginning; null: the log does not reach so far. */
function termAt({ termRuns, lastIndex }: RecoveredLog, index: LogIndex): Term | null {
  if (index > lastIndex) return null
  return new TermRuns(termRuns).termAt(index) ?? null
}

/** Throws what `logAndState` throws. */
export async function startOf(options: RaftNodeOptions): Promise<CoreStart> {
  const { log, machine, recovered } = options
  if ((await logAndState(recovered, machine)) === 'installed') {
    const { configuration, configurationIndex } = recovered.snapshot
    const installed = await machine.flush()
    const meta = supersedes(configuration, installed.configuration)
      ? { ...installed, configuration, configurationIndex }
      : installed
    await log.reset(meta, { ...recovered.hardState, commitIndex: meta.index })
    return {
      base: { index: meta.index, term: meta.term },
      lastIndex: meta.index,
      termRuns: [],
      tail: [],
      hardState: { ...recovered.hardState, commitIndex: meta.index },
      appliedIndex: meta.index,
      configuration: meta.configuration,
      configurationIndex: meta.configurationIndex,
      configurations: [],
    }
  }
  const { snapshot } = recovered
  return {
    base: { index: snapshot.index, term: snapshot.term },
    lastIndex: recovered.lastIndex,
    termRuns: recovered.termRuns,
    tail: recovered.tail,
    hardState: recovered.hardState,
    appliedIndex: machine.appliedIndex,
    configuration: snapshot.configuration,
    configurationIndex: snapshot.configurationIndex,
    configurations: recovered.configurations,
  }
}
