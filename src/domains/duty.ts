/** What only the leader does by itself: started on election, stopped when leadership is lost, found anew in the state. */
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Propose } from '../rpc/write.ts'
import type { OpenView } from './host.ts'

/** What a duty may use. Most are `periodic` rounds over it. */
export type DutyContext = {
  readonly clock: Clock
  readonly log: Logger
  readonly view: OpenView
  readonly propose: Propose
}
