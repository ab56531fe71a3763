/** What a job is for: to run, or to start others. */
import type { JobSpec } from './model.ts'

export type JobKind = 'plain' | 'periodic' | 'parameterized'

export function kindOf({ Periodic, ParameterizedJob }: JobSpec): JobKind {
  if (Periodic !== null) return 'periodic'
  return ParameterizedJob === null ? 'plain' : 'parameterized'
}
