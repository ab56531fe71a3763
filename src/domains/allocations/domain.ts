/** Allocations: which node runs what. */
import { defineDomain } from '../domain.ts'
import { allocationCommands } from './commands.ts'
import { allocations } from './table.ts'

export const allocationsDomain = defineDomain({
  name: 'allocations',
  tables: [allocations],
  commands: allocationCommands,
})
