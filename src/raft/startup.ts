/**
 * What a restart found, made into the core's starting point; and the checks that the log and the state belong together.
 */
import { MusterError } from '../lib/errors.ts'
import type { CoreStart } from './core/core.ts'
import type { RaftNodeOptions } from './door.ts'

/** Throws `corrupt` when the state is behind the log's beginning, or ahead of its end without an install to explain it. */
export async function startOf(options: RaftNodeOptions): Promise<CoreStart> {
  const { log, machine, recovered } = options
  if (machine.appliedIndex < recovered.snapshot.index) {
    throw new MusterError(
      'corrupt',
      `the state is at index ${machine.appliedIndex}, but the log begins after ${recovered.snapshot.index}: state that was durable is gone; replace this server by an empty one`,
    )
  }
  const installing = machine.installedIndex === machine.appliedIndex
  if (installing && machine.installedIndex > recovered.snapshot.index) {
    // The process ended between putting a snapshot in place and starting the log over behind it. However far the
    // log reaches, it is void: a snapshot is put in place only where the log does not agree with it.
    const meta = await machine.flush()
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
  if (machine.appliedIndex > recovered.lastIndex) {
    throw new MusterError(
      'corrupt',
      `the log ends at index ${recovered.lastIndex}, but the state has applied ${machine.appliedIndex}: entries that were durable are gone; replace this server by an empty one`,
    )
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
