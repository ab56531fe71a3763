/** What a state machine is opened with. */
import type { Clock } from '../lib/clock.ts'
import type { DiskGate } from '../lib/disk-gate.ts'
import type { Logger } from '../lib/log.ts'
import type { Configuration } from '../raft/core/message.ts'
import type { Domain } from './domain.ts'
import type { KeySetLimits } from './key-sets.ts'
import type { OnDamage } from './open.ts'
import type { StoreLimits } from './store.ts'
import type { WatchLimits } from './watch.ts'

export type MachineOptions = {
  /** A folder of its own. */
  readonly folder: string
  readonly domains: readonly Domain[]
  /** The data of a configuration entry. */
  readonly decodeConfiguration: (data: Uint8Array) => Configuration
  readonly logger: Logger
  readonly clock: Clock
  /** Outlasts a disk that is full or read-only; absent: that is a failure like any other. */
  readonly gate?: DiskGate
  /** Asked when the state is damaged. Default: refuse. */
  readonly onDamage?: () => Promise<OnDamage>
  readonly watchLimits?: WatchLimits
  readonly storeLimits?: StoreLimits
  readonly keySetLimits?: KeySetLimits
  /** Default: `rowCacheBytes`. */
  readonly rowCacheBytes?: number
  /** The newest command version of this program, for tests of clusters that run several. */
  readonly commandVersion?: number
  /** Instead of the program's `cascadeRowsMax`, for tests. */
  readonly cascadeRowsMax?: number
}
