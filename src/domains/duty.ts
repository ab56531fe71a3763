/** What only the leader does by itself: started on election, stopped when leadership is lost, found anew in the state. */
import type { Command, Reader } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Proposed } from '../rpc/consensus.ts'

/** What a duty may use. Most are `periodic` rounds over it. */
export type DutyContext = {
  readonly clock: Clock
  readonly log: Logger
  /** This server's state as it is; closed after use. */
  readonly view: () => Reader & { close(): void }
  readonly propose: (command: Command) => Promise<Proposed>
}
