/** What the nodes' leader asks about the work of a node; those who keep it know. */
import type { Reader } from '../../fsm/domain.ts'

export type NodeWork = {
  /** For how long the node may be silent before all that it runs is lost; null: not at all. */
  windowMs(reader: Reader, node: string): Promise<number | null>
  /** Its agent has not said again of all that runs there what became of it while it was cut off. */
  isAwaited(reader: Reader, node: string): Promise<boolean>
}
