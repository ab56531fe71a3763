/** Reads of registered jobs. */
import type { Key, Reader } from '../../fsm/domain.ts'
import { decodeNumber, numberLength, stringsOfKey } from '../../fsm/keys.ts'
import { allOf } from '../../lib/pages.ts'
import { firstOf } from '../define.ts'
import { launchedFront } from './dispatch-model.ts'
import type { ScalingRow } from './scale-model.ts'
import { jobs, jobVersions, scalings, type JobRow, type JobVersionRow } from './table.ts'

export function jobOf(reader: Reader, namespace: string, id: string): JobRow | null {
  return reader.get(jobs, [namespace, id]) ?? null
}

export type VersionKey = Pick<JobVersionRow, 'namespace' | 'id' | 'jobCreateIndex' | 'version'>

export function versionOf(reader: Reader, key: VersionKey): JobVersionRow | null {
  const { namespace, id, jobCreateIndex, version } = key
  return reader.get(jobVersions, [namespace, id, jobCreateIndex, version]) ?? null
}

/** The specification of the job as it is. */
export function newestVersionOf(reader: Reader, job: JobRow): JobVersionRow | null {
  return versionOf(reader, { ...job, jobCreateIndex: job.createIndex })
}

/** At most as many as a job may have had groups, and a few. */
const scalingsMax = 512

/** By group, what was asked of its count. */
export async function scalingsOf(
  reader: Reader,
  namespace: string,
  id: string,
): Promise<readonly ScalingRow[]> {
  return allOf(reader.pages(scalings, { prefix: [namespace, id] }), scalingsMax)
}

/** Moves with every job and every scaling that is written. */
export function scalingIndex(reader: Reader): number {
  return Math.max(reader.tableIndex(jobs), reader.tableIndex(scalings))
}

/** Those that are started by time. */
export function periodicJobs(reader: Reader): AsyncIterable<readonly JobRow[]> {
  return reader.pagesBy(jobs, 'byTime')
}

/** The job that started it; null: none did, or it is gone. */
export function parentOf(
  reader: Reader,
  { namespace, parent }: Pick<JobRow, 'namespace' | 'parent'>,
): JobRow | null {
  if (parent === undefined) return null
  const row = jobOf(reader, namespace, parent.id)
  return row?.createIndex === parent.createIndex ? row : null
}

/**
 * Whether one that a job of the id started by time, before it was purged and registered again, keeps this one from starting
 * another. Those of the job as it is are counted in its row, which the command looks at.
 */
export async function isOverlapped(reader: Reader, job: JobRow): Promise<boolean> {
  if (newestVersionOf(reader, job)?.spec.Periodic?.ProhibitOverlap !== true) return false
  const { namespace, id, createIndex } = job
  const isEarlier = ({ parent, status }: JobRow): boolean =>
    parent?.id === id && parent.createIndex !== createIndex && status !== 'dead'
  const launched = { prefix: [namespace], startsWith: launchedFront(id) }
  for await (const page of reader.pages(jobs, launched)) if (page.some(isEarlier)) return true
  return false
}

/** How deep jobs start others: a dispatched one that is periodic starts some itself. */
const startedDepthMax = 2

/** Of the job that somebody registered: itself, or what led to it. */
export function registeredJobId(reader: Reader, namespace: string, id: string): string {
  let found = id
  for (let depth = 0; depth < startedDepthMax; depth += 1) {
    const parent = jobOf(reader, namespace, found)?.parent
    if (parent === undefined) break
    found = parent.id
  }
  return found
}

/** That a dispatch with the token started. */
export async function jobByToken(
  reader: Reader,
  { namespace, id, createIndex }: JobRow,
  token: string,
): Promise<JobRow | null> {
  for await (const page of reader.pagesBy(jobs, 'byToken', { prefix: [namespace, id, token] })) {
    const found = page.find(({ parent }) => parent?.createIndex === createIndex)
    if (found !== undefined) return found
  }
  return null
}

export async function hasJobs(reader: Reader, namespace: string): Promise<boolean> {
  return (await firstOf(reader.pages(jobs, { prefix: [namespace] }))) !== null
}

export type WholeJob = { readonly job: JobRow; readonly version: JobVersionRow }

/** With what they are to run, in the order of namespaces and ids. `namespace`: null for all. */
export async function* jobsIn(
  reader: Reader,
  namespace: string | null,
  prefix: string,
): AsyncGenerator<readonly WholeJob[]> {
  const range = namespace === null ? {} : { prefix: [namespace], startsWith: prefix }
  for await (const page of reader.pages(jobs, range)) {
    yield page.flatMap((job) => {
      const version = newestVersionOf(reader, job)
      return version === null ? [] : [{ job, version }]
    })
  }
}

/** The last ones, the newest first. */
export async function versionsOf(
  reader: Reader,
  { namespace, id, createIndex, version: newest }: JobRow,
  most: number,
): Promise<readonly JobVersionRow[]> {
  const from = [namespace, id, createIndex, Math.max(0, newest - most + 1)]
  const rows = await allOf(
    reader.pages(jobVersions, { prefix: [namespace, id, createIndex], from }),
  )
  return rows.toReversed()
}

/** Of all versions that there are, in their order. */
export async function* versionKeys(reader: Reader): AsyncGenerator<readonly VersionKey[]> {
  for await (const page of reader.keysBy(jobVersions, null)) yield page.map(versionKeyOf)
}

function versionKeyOf(encoded: string): VersionKey {
  const numbersAt = encoded.length - 2 * numberLength
  const [namespace = '', id = ''] = stringsOfKey(encoded.slice(0, numbersAt))
  const jobCreateIndex = decodeNumber(encoded, numbersAt)
  return { namespace, id, jobCreateIndex, version: decodeNumber(encoded, numbersAt + numberLength) }
}

/** Versions of a job that are kept, with the newest; older ones as long as an allocation runs them or a deployment may go back to them. */
export const versionsKept = 6

/** It is none of a job's last ones. */
export function isOldVersion(
  reader: Reader,
  { namespace, id, jobCreateIndex, version }: VersionKey,
): boolean {
  const job = jobOf(reader, namespace, id)
  if (job === null || job.createIndex !== jobCreateIndex) return true
  return version <= job.version - versionsKept && version !== job.stableVersion
}

/** A job as the leader saw it when it looked at its allocations. */
export type SeenJob = Pick<JobRow, 'namespace' | 'id' | 'modifyIndex'>

/** Those that run nothing any more, the earliest registered first, from a place in that index on; null: its begin. */
export function jobsOver(reader: Reader, from: Key | null): AsyncIterable<readonly JobRow[]> {
  return reader.pagesBy(jobs, 'over', from === null ? {} : { from })
}
