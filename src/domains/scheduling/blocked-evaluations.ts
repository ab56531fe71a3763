/**
 * Evaluations whose allocations have no place: they are worked on again when a node of a class that may do gets room. What got room after
 * the state that a worker looked at, and before it said so, counts too.
 */
import type { EvaluationRow } from '../evaluations/model.ts'
import type { Queued } from './evaluation-queue.ts'

type Blocked = Queued & Pick<EvaluationRow, 'classes' | 'escaped' | 'snapshotIndex' | 'triggeredBy'>

/** Classes that are remembered. */
export const classesMax = 4_096

export class BlockedEvaluations {
  readonly #blocked = new Map<string, Blocked>()
  /** By computed class, the last index at which a node of it got room. */
  readonly #room = new Map<string, number>()
  /** Up to here some class got room that is not remembered any more. */
  #forgotten = 0

  get size(): number {
    return this.#blocked.size
  }

  /** False: there may be a place already, so it is not kept. */
  add(blocked: Blocked): boolean {
    const { id, snapshotIndex } = blocked
    if (snapshotIndex < this.#forgotten) {
      this.#blocked.delete(id)
      return false
    }
    for (const [name, index] of this.#room) {
      if (index > snapshotIndex && mayFit(blocked, name)) {
        this.#blocked.delete(id)
        return false
      }
    }
    this.#blocked.set(id, blocked)
    return true
  }

  remove(id: string): void {
    this.#blocked.delete(id)
  }

  /** Others were ended by what told nobody. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#blocked.keys()) if (!ids.has(id)) this.#blocked.delete(id)
  }

  /** A node of this class got room at the index. Returns those that may go there; they are not kept any more. */
  gotRoom(computedClass: string, index: number): readonly Queued[] {
    if (this.#room.size >= classesMax && !this.#room.has(computedClass)) {
      this.#room.clear()
      this.#forgotten = index
    }
    this.#room.set(computedClass, index)
    return this.#take((blocked) => mayFit(blocked, computedClass))
  }

  /** Those whose plans were refused too often: nothing says when they would do. */
  takeRefused(): readonly Queued[] {
    return this.#take(({ triggeredBy }) => triggeredBy === 'max-plan-attempts')
  }

  takeAll(): readonly Queued[] {
    return this.#take(() => true)
  }

  #take(isTaken: (blocked: Blocked) => boolean): readonly Queued[] {
    const taken: Queued[] = []
    for (const blocked of this.#blocked.values()) {
      if (!isTaken(blocked)) continue
      this.#blocked.delete(blocked.id)
      taken.push(blocked)
    }
    return taken
  }
}

/** A class that it did not meet may fit. */
function mayFit({ classes, escaped }: Blocked, computedClass: string): boolean {
  if (escaped) return true
  const known = classes.find(([name]) => name === computedClass)
  return known === undefined || known[1]
}
