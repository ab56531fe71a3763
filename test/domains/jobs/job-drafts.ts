/** Jobs to change in one place and to look at again. */
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import { readJob } from '../../../src/domains/jobs/draft-model.ts'
import type { JobSpec } from '../../../src/domains/jobs/model.ts'
import { validateJob } from '../../../src/domains/jobs/validate-model.ts'

export type Json = Readonly<Record<string, unknown>>

/** The least that is in order, with other members of the job, its group and its task. */
export function jobWith(job: Json = {}, group: Json = {}, task: Json = {}): Json {
  return {
    ID: 'web',
    Datacenters: ['dc1'],
    TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't', Driver: 'exec', ...task }], ...group }],
    ...job,
  }
}

export function completed(written: unknown): JobSpec {
  return withDefaults(readJob(written).draft, 'default')
}

export function problemsOf(written: unknown): readonly string[] {
  return validateJob(completed(written), { knowsTimeZone: (name) => name !== 'Nowhere' }).texts()
}
