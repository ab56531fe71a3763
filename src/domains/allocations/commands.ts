/** Changes of allocations. */
import { commandsByType } from '../define.ts'
import { collectEnded, collectVersions } from './collect-commands.ts'
import { setHealth } from './health-commands.ts'
import { moveAllocations } from './move-commands.ts'
import { applyPlan } from './plan-commands.ts'
import { reportAllocations } from './reported-commands.ts'
import { rescheduleAllocations } from './reschedule-commands.ts'

export const allocationCommands = commandsByType([
  applyPlan,
  reportAllocations,
  moveAllocations,
  rescheduleAllocations,
  setHealth,
  collectEnded,
  collectVersions,
])
