/** The deployment that a command is about: by its whole id or the front of it. */
import { textOf } from '../../api/answer.ts'
import { ApiRefusal, type ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { findId } from '../../ids.ts'
import { jobPath, type FoundJob } from '../job/find.ts'

export function findDeployment(client: ApiClient, given: string): Promise<string> {
  return findId(client, given, {
    what: 'deployment',
    path: '/v1/deployments',
    search: { namespace: client.settings.namespace },
    nameOf: (row) => `${textOf(row, 'JobID')}, ${textOf(row, 'Status')}`,
  })
}

/** `word`: `fail` and the like; '' for the deployment itself. */
export function deploymentPath(id: string, word = ''): string {
  return `/v1/deployment/${word === '' ? '' : `${word}/`}${encodeURIComponent(id)}`
}

/** The newest one of a job; null: there is none, or the server is older than deployments. */
export async function newestDeployment(
  client: ApiClient,
  { id, namespace }: Pick<FoundJob, 'id' | 'namespace'>,
): Promise<JsonObject | null> {
  try {
    const found = await client.get(jobPath(id, '/deployment'), { namespace })
    return isObject(found) ? found : null
  } catch (error) {
    if (error instanceof ApiRefusal && [404, 501].includes(error.status)) return null
    throw error
  }
}
