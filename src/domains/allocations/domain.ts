/** Allocations: which node runs what. */
import { defineDomain } from '../domain.ts'
import { allocations } from './table.ts'

export const allocationsDomain = defineDomain({ name: 'allocations', tables: [allocations] })
