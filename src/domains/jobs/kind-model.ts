/** What a job is for: to run, or to start others. */
import type { JobSpec } from './model.ts'

export type JobKind = 'plain' | 'periodic' | 'parameterized' | 'periodic and parameterized'

type Kinds = Pick<JobSpec, 'Periodic' | 'ParameterizedJob'>

export function kindOf({ Periodic, ParameterizedJob }: Kinds): JobKind {
  if (ParameterizedJob === null) return Periodic === null ? 'plain' : 'periodic'
  return Periodic === null ? 'parameterized' : 'periodic and parameterized'
}

/** Dispatches start jobs of it. `dispatched`: a dispatch started the job, or what started the job. */
export function isParameterized({ ParameterizedJob }: Kinds, dispatched: boolean): boolean {
  return ParameterizedJob !== null && !dispatched
}

/** It runs nothing itself. */
export function isTemplate(spec: Kinds, dispatched: boolean): boolean {
  return spec.Periodic !== null || isParameterized(spec, dispatched)
}

/** The leader starts jobs of it by time. One that is parameterized too has a dispatched job do so. */
export function isLaunched(spec: Kinds, dispatched: boolean): boolean {
  return spec.Periodic?.Enabled === true && !isParameterized(spec, dispatched)
}
