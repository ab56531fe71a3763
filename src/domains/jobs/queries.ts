/** Reads of registered jobs. */
import type { Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import { jobs, jobVersions, type JobRow, type JobVersionRow } from './table.ts'

export function jobOf(reader: Reader, namespace: string, id: string): JobRow | null {
  return reader.get(jobs, [namespace, id]) ?? null
}

type VersionKey = Pick<JobVersionRow, 'namespace' | 'id' | 'jobCreateIndex' | 'version'>

export function versionOf(reader: Reader, key: VersionKey): JobVersionRow | null {
  const { namespace, id, jobCreateIndex, version } = key
  return reader.get(jobVersions, [namespace, id, jobCreateIndex, version]) ?? null
}

/** The specification of the job as it is. */
export function newestVersionOf(reader: Reader, job: JobRow): JobVersionRow | null {
  return versionOf(reader, { ...job, jobCreateIndex: job.createIndex })
}

export async function hasJobs(reader: Reader, namespace: string): Promise<boolean> {
  return (await firstOf(reader.pages(jobs, { prefix: [namespace] }))) !== null
}
