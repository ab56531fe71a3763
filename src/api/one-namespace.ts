/** The namespace of a request that is about one thing. */
import { MusterError } from '../lib/errors.ts'
import { allNamespaces, defaultNamespace } from '../lib/namespace-names.ts'

/** `namespace`: as the request names it; null: it names none. Throws `invalid_argument` for that of all namespaces. */
export function oneNamespace(namespace: string | null): string {
  if (namespace === allNamespaces) {
    throw new MusterError('invalid_argument', 'namespace * is for lists: name one namespace')
  }
  return namespace ?? defaultNamespace
}
