/** The job that a command is about: by its whole id, or the front of it where only one begins so. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiRefusal, type ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { theOnly } from '../../ids.ts'

export const anyNamespace = '*'

export type FoundJob = {
  readonly id: string
  readonly namespace: string
  /** As the API has it. */
  readonly job: JsonObject
  /** Of the id that was given: it is the whole one. */
  readonly isWhole: boolean
}

/** A job whose whole id is given goes before those that only begin so. */
export async function findJob(client: ApiClient, given: string): Promise<FoundJob> {
  const { namespace } = client.settings
  const exact = namespace === anyNamespace ? null : await readJob(client, given, namespace)
  if (exact !== null) return found(exact, given)
  const rows = listOf(await client.get('/v1/jobs', { prefix: given, namespace })).map(objectOf)
  const whole = rows.filter((row) => textOf(row, 'ID') === given)
  const only = theOnly(whole.length > 0 ? whole : rows, {
    given,
    what: 'job',
    nameOf: (row) => (namespace === anyNamespace ? textOf(row, 'Namespace') : textOf(row, 'Type')),
  })
  const search = { namespace: textOf(only, 'Namespace') }
  return found(objectOf(await client.get(jobPath(textOf(only, 'ID')), search)), given)
}

/** Null: there is none with this id. */
async function readJob(
  client: ApiClient,
  id: string,
  namespace: string | null,
): Promise<JsonObject | null> {
  try {
    return objectOf(await client.get(jobPath(id), { namespace }))
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return null
    throw error
  }
}

function found(job: JsonObject, given: string): FoundJob {
  const id = textOf(job, 'ID')
  return { id, namespace: textOf(job, 'Namespace'), job, isWhole: id === given }
}

/** `part`: `/summary` and the like. Ids may have slashes. */
export function jobPath(id: string, part = ''): string {
  return `/v1/job/${encodeURIComponent(id)}${part}`
}

/** `dead (stopped)` where it was stopped, and did not just end. */
export function statusOf(job: JsonObject): string {
  const status = textOf(job, 'Status')
  return job['Stop'] === true ? `${status} (stopped)` : status
}
