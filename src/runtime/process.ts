/** What starting a server and starting a client agent have in common: what is handed in, and what comes out. */
import type { Clock } from '../lib/clock.ts'
import type { Logger, LogTap } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { AgentOrigin } from './shown-config.ts'

export type RuntimeDependencies = {
  readonly logger: Logger
  readonly logTap: LogTap
  readonly origin: AgentOrigin
  readonly clock: Clock
  readonly random: Random
  /** Something failed for good, such as a disk or the state: the process ends. */
  readonly onFatal: (error: unknown) => void
  /**
   * Reads again what may change while the process runs, as SIGHUP does. Rejects with what stayed as it was. Resolves
   * with a warning of what it does not change; null: there is none.
   */
  readonly reload: () => Promise<string | null>
}

export type RunningProcess<Listener extends string, Settings> = {
  /** host:port of each listener, with the ports the system chose; commas between several. */
  readonly addresses: Readonly<Record<Listener, string>>
  /** `/health` says from now on that requests should go elsewhere; nothing else changes. */
  announceStop(): void
  /** Reads certificates again, and what `readConfig` gives. Throws one line for all that stay as they were. */
  reload(readConfig: () => Promise<Settings>): Promise<void>
  stop(): Promise<void>
  /** How much longer than any process's its stop may take, by its configuration. Absent: no longer. */
  readonly stopMsMax?: number
}
