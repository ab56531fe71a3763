/** What the commands about namespaces share. */
import { MusterError } from '../../../lib/errors.ts'
import { ApiRefusal, type ApiClient } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'

export function namespacePath(name: string): string {
  return `/v1/namespace/${encodeURIComponent(name)}`
}

/** Null when there is no such namespace. */
export async function findNamespace(client: ApiClient, name: string): Promise<Json> {
  try {
    return await client.get(namespacePath(name))
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return null
    throw error
  }
}

export function unknownNamespace(name: string): MusterError {
  return new MusterError('not_found', `there is no namespace ${JSON.stringify(name)}`)
}
