/** Jobs registered at a server of one. */
import { randomUUID } from 'node:crypto'
import type {
  DeregisterOutcome,
  RegisterJob,
  RegisterOutcome,
} from '../../../src/domains/jobs/commands.ts'
import type { JobSpec } from '../../../src/domains/jobs/model.ts'
import type { ServerOfOne } from '../server-of-one.ts'
import { completed, jobWith } from './job-drafts.ts'

export const nowMs = 1_800_000_000_000

export function registration(spec: JobSpec, more: Partial<RegisterJob> = {}): RegisterJob {
  return {
    namespace: spec.Namespace,
    id: spec.ID,
    type: 'service',
    priority: spec.Priority,
    groups: spec.TaskGroups.map(({ Name }) => Name),
    spec,
    evaluationId: randomUUID(),
    enforceIndex: null,
    nowMs,
    ...more,
  }
}

export async function register(
  server: ServerOfOne,
  spec: JobSpec = completed(jobWith()),
  more: Partial<RegisterJob> = {},
): Promise<RegisterOutcome> {
  const command = { type: 'jobs.register', args: registration(spec, more) }
  return (await server.propose(command)).outcome as RegisterOutcome
}

export async function deregister(
  server: ServerOfOne,
  id: string,
  { purge = false }: { readonly purge?: boolean } = {},
): Promise<DeregisterOutcome> {
  const args = { namespace: 'default', id, purge, evaluationId: randomUUID(), nowMs }
  return (await server.propose({ type: 'jobs.deregister', args })).outcome as DeregisterOutcome
}
