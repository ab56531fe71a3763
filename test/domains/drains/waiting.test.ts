/** What allocations of a draining node wait for, by how many of their group are healthy. */
import t from 'tap'
import type { AllocationRow } from '../../../src/domains/allocations/model.ts'
import type { DrainingNode, GroupRoom } from '../../../src/domains/drains/step-model.ts'
import { groupKeyOf } from '../../../src/domains/drains/step-model.ts'
import { waitingOn } from '../../../src/domains/drains/waiting-model.ts'

const row = {
  namespace: 'default',
  jobId: 'web',
  group: 'g',
  migrate: false,
  desiredStatus: 'run',
  clientStatus: 'running',
} as AllocationRow

function reasonWith(room: GroupRoom): string | undefined {
  const draining = { node: { drain: null }, left: [{ row, kind: 'service' }], hasForced: false }
  const groups = new Map([[groupKeyOf(row), room]])
  return waitingOn(draining as unknown as DrainingNode, groups, () => null)[0]?.reason
}

t.test('one more must be up only where those that are have to stay', async (t) => {
  const start = 'of its group'
  t.equal(
    reasonWith({ judged: 1, stay: 1 }),
    `${start} 1 are known to be healthy or not, and 1 have to stay: one more must be up first`,
  )
  t.equal(
    reasonWith({ judged: 3, stay: 1 }),
    `${start} 3 are known to be healthy or not, and 1 have to stay: up to 2 move at the next step`,
  )
})
