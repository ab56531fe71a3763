/**
 * What a restart found, made into the core's starting point; and the checks that the log and the state belong together.
 */
import { MusterError } from '../lib/errors.ts'
import type { CoreStart } from './core/core.ts'
import { supersedes } from './core/succession.ts'
import type { RaftNodeOptions } from './door.ts'
import type { StateMachine } from './state-machine.ts'
import type { RecoveredLog } from './storage/log-store.ts'

type Indexes = Pick<StateMachine, 'appliedIndex' | 'installedIndex'>

/**
 * `follows`: the log goes on from the state. `installed`: the process ended between putting a snapshot in place and
 * starting the log over behind it. However far the log reaches, it is void then: a snapshot is put in place only where
 * the log does not agree with it.
 * Throws `corrupt` when the state is behind the log's beginning, or ahead of its end without an install to explain it.
 */
export function logAndState(
  { snapshot, lastIndex }: RecoveredLog,
  { appliedIndex, installedIndex }: Indexes,
): 'follows' | 'installed' {
  if (appliedIndex < snapshot.index) {
    throw new MusterError(
      'corrupt',
      `the state is at index ${appliedIndex}, but the log begins after ${snapshot.index}: state that was durable is gone; replace this server by an empty one`,
    )
  }
  if (installedIndex === appliedIndex && installedIndex > snapshot.index) return 'installed'
  if (appliedIndex > lastIndex) {
    throw new MusterError(
      'corrupt',
      `the log ends at index ${lastIndex}, but the state has applied ${appliedIndex}: entries that were durable are gone; replace this server by an empty one`,
    )
  }
  return 'follows'
}

/** Throws what `logAndState` throws. */
export async function startOf(options: RaftNodeOptions): Promise<CoreStart> {
  const { log, machine, recovered } = options
  if (logAndState(recovered, machine) === 'installed') {
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
