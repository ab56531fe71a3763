/** Reads of deployments. */
import type { Key, Reader } from '../../fsm/domain.ts'
import type { JobKey } from '../evaluations/model.ts'
import type { DeploymentRow } from './model.ts'
import { deployments } from './table.ts'

type Rows = AsyncIterable<readonly DeploymentRow[]>

export function deploymentById(reader: Reader, id: string): DeploymentRow | null {
  return reader.get(deployments, [id]) ?? null
}

/** The oldest first. */
export function deploymentsOfJob(reader: Reader, { namespace, jobId }: JobKey): Rows {
  return reader.pagesBy(deployments, 'byJob', { prefix: [namespace, jobId] })
}

/** There are no more of them than allocations of the job, which whoever asks reads too. */
export async function newestDeploymentOf(
  reader: Reader,
  job: JobKey,
): Promise<DeploymentRow | null> {
  let newest: DeploymentRow | null = null
  for await (const page of deploymentsOfJob(reader, job)) newest = page.at(-1) ?? newest
  return newest
}

export function activeDeployments(reader: Reader): Rows {
  return reader.pagesBy(deployments, 'active', { prefix: ['active'] })
}

/** The oldest first, from a place in that index on; null: its begin. */
export function endedDeployments(reader: Reader, from: Key | null): Rows {
  return reader.pagesBy(deployments, 'ended', from === null ? {} : { from })
}

/** In the order of their ids. */
export function deploymentsWithPrefix(reader: Reader, prefix: string): Rows {
  return reader.pages(deployments, { startsWith: prefix })
}

/** Moves with every deployment that is written. */
export function deploymentsIndex(reader: Reader): number {
  return reader.tableIndex(deployments)
}
