/** The versions of a job. */
import { listOf, objectOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { jobPath, type FoundJob } from './find.ts'

/** Those that are kept, the newest first. */
export async function readVersions(
  client: ApiClient,
  { id, namespace }: Pick<FoundJob, 'id' | 'namespace'>,
): Promise<readonly JsonObject[]> {
  const json = objectOf(await client.get(jobPath(id, '/versions'), { namespace }))
  return listOf(json['Versions']).map(objectOf)
}
