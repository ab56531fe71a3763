/** Changes of allocations. */
import { commandsByType } from '../define.ts'
import { collectEnded, collectVersions } from './collect-commands.ts'
import { setHealth } from './health-commands.ts'
import { moveAllocations } from './move-commands.ts'
import { applyPlan } from './plan-commands.ts'
import { reportAllocations } from './reported-commands.ts'

export const allocationCommands = commandsByType([
  applyPlan,
  reportAllocations,
  moveAllocations,
  setHealth,
  collectEnded,
  collectVersions,
])
