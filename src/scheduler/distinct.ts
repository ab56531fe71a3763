/** Constraints on where a job's allocations are to one another: `distinct_hosts` and `distinct_property`. */
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import type { Constraint } from '../domains/jobs/placement-model.ts'
import { textOfConstraint, type Unfit } from './feasible.ts'
import type { JobSpots } from './job-spots.ts'
import { targetOf } from './node-targets.ts'
import type { ScheduledNode } from './scheduled-node.ts'

type Property = {
  readonly target: string
  readonly usersMax: number
  /** Null: the job's as a whole. */
  readonly group: string | null
  readonly text: string
}

export class Distinct {
  /** Of all allocations of the job; of those of the group. */
  readonly #hosts: readonly (string | null)[]
  readonly #properties: readonly Property[]

  constructor(job: JobSpec, group: TaskGroup) {
    const scoped = [
      ...job.Constraints.map((constraint) => ({ constraint, group: null })),
      ...group.Constraints.map((constraint) => ({ constraint, group: group.Name })),
    ]
    this.#hosts = scoped.flatMap(({ constraint, group }) =>
      constraint.Operand === 'distinct_hosts' && constraint.RTarget !== 'false' ? [group] : [],
    )
    this.#properties = scoped.flatMap(({ constraint, group }) =>
      constraint.Operand === 'distinct_property' ? [propertyOf(constraint, group)] : [],
    )
  }

  /** Null: another allocation may go there. `spots`: where those of the job are. */
  unfit(node: ScheduledNode, spots: JobSpots): Unfit | null {
    if (this.#hosts.some((group) => spots.onNode(node.id, group) > 0)) {
      return { reason: 'distinct_hosts' }
    }
    for (const { target, usersMax, group, text } of this.#properties) {
      const value = targetOf(target, node)
      if (value === undefined) return { reason: `missing property ${target}` }
      if (spots.withProperty(target, value, group) >= usersMax) return { reason: text }
    }
    return null
  }
}

function propertyOf(constraint: Constraint, group: string | null): Property {
  const { LTarget, RTarget } = constraint
  const usersMax = RTarget === '' ? 1 : Number(RTarget)
  return { target: LTarget, usersMax, group, text: textOfConstraint(constraint) }
}
