/** Deployments beside their allocations: their rows follow what becomes of those, in the same entry. */
import type { Change, Moment } from '../../fsm/domain.ts'
import { insert, replace } from '../define.ts'
import { isActive, type DeploymentRow } from '../deployments/model.ts'
import { withPlaced, withStanding, type Standing } from '../deployments/state-model.ts'
import { deployments } from '../deployments/table.ts'
import { isTerminal, type AllocationRow } from './model.ts'

type Deployed = Pick<AllocationRow, 'id' | 'group' | 'deploymentId' | 'canary'>

/** As an entry leaves them. One that is over counts no more. */
export class DeploymentDrafts {
  readonly #found: ReadonlyMap<string, DeploymentRow>
  readonly #moment: Moment
  readonly #rows = new Map<string, DeploymentRow>()

  constructor(found: ReadonlyMap<string, DeploymentRow>, moment: Moment) {
    this.#found = found
    this.#moment = moment
  }

  of(id: string | undefined): DeploymentRow | null {
    return id === undefined ? null : (this.#rows.get(id) ?? this.#found.get(id) ?? null)
  }

  set(row: DeploymentRow): void {
    this.#rows.set(row.id, row)
  }

  placed(row: Deployed): void {
    const deployment = this.#counting(row)
    if (deployment === null) return
    const one = { id: row.id, isCanary: row.canary === true }
    this.set(withPlaced(deployment, row.group, one, this.#moment))
  }

  changed(before: AllocationRow, after: AllocationRow): void {
    const deployment = this.#counting(after)
    if (deployment === null || before.deploymentId !== after.deploymentId) return
    const standing = { before: standingOf(before), after: standingOf(after) }
    this.set(withStanding(deployment, after.group, standing, this.#moment))
  }

  changes(): readonly Change[] {
    return [...this.#rows.values()].flatMap((row) => {
      const before = this.#found.get(row.id)
      if (before === undefined) return [insert(deployments, row)]
      return row === before ? [] : [replace(deployments, before, row)]
    })
  }

  #counting({ deploymentId }: Deployed): DeploymentRow | null {
    const row = this.of(deploymentId)
    return row !== null && isActive(row) ? row : null
  }
}

function standingOf(row: AllocationRow): Standing {
  return {
    healthy: row.health?.healthy ?? null,
    isCanary: row.canary === true,
    // While nobody knows of it, it serves nobody.
    isOver: isTerminal(row) || row.clientStatus === 'unknown',
  }
}
