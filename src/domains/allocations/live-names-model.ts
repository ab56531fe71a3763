/** Names of a job's allocations that are to run and have not ended. */
import { isEveryNodeType } from '../evaluations/job-type-model.ts'
import type { EvaluationRow } from '../evaluations/model.ts'
import type { NewAllocation } from './model.ts'

/** The name alone, or the name and a node. */
export type LiveName = readonly [name: string] | readonly [name: string, nodeId: string]

/** A name is given once; of jobs that run on every node, once on each. */
export function liveNameOf(
  type: EvaluationRow['type'],
  { name, nodeId }: Pick<NewAllocation, 'name' | 'nodeId'>,
): LiveName {
  return isEveryNodeType(type) ? [name, nodeId] : [name]
}

/** A canary has the name of what it may replace: each deployment has its names beside the others. '' for what is no canary. */
export function besideOf({ canary, deploymentId }: NewAllocation): string {
  return canary === true ? (deploymentId ?? '') : ''
}

export class LiveNames {
  readonly #names = new Set<string>()

  add(name: LiveName, beside: string): void {
    this.#names.add(JSON.stringify([name, beside]))
  }

  has(name: LiveName, beside: string): boolean {
    return this.#names.has(JSON.stringify([name, beside]))
  }
}
