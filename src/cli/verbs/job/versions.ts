/** The versions of a job. */
import { listOf, objectOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { jobPath, type FoundJob } from './find.ts'

/** Those that are kept, the newest first. */
export async function readVersions(
  client: ApiClient,
  found: Pick<FoundJob, 'id' | 'namespace'>,
): Promise<readonly JsonObject[]> {
  return (await readHistory(client, found, { diffs: false })).versions
}

type History = {
  readonly versions: readonly JsonObject[]
  /** What each differs in from the one behind it; none of the last one. */
  readonly diffs: readonly JsonObject[]
}

export async function readHistory(
  client: ApiClient,
  { id, namespace }: Pick<FoundJob, 'id' | 'namespace'>,
  { diffs }: { readonly diffs: boolean },
): Promise<History> {
  const search = { namespace, ...(diffs && { diffs: 'true' }) }
  const json = objectOf(await client.get(jobPath(id, '/versions'), search))
  return {
    versions: listOf(json['Versions']).map(objectOf),
    diffs: listOf(json['Diffs'] ?? []).map(objectOf),
  }
}
