/** What all routes of the catalog take in the query: datacenter, namespace, meta of nodes; and how they answer lists. */
import type { ApiReply, ApiRequest, DescribedRoute, Route } from '../../api/route.ts'
import {
  inNamespace,
  ofDatacenter,
  optionally,
  text,
  type RouteDescription,
} from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { MusterError } from '../../lib/errors.ts'

/** Services and checks are those of nodes, which belong to no namespace: only the default one is there to name. */
const namespaceNames: readonly (string | null)[] = [null, '', 'default', '*']

const writesCatalog = [
  { resource: 'node', access: 'write' },
  { resource: 'service', access: 'write' },
] as const

/** How routes of the catalog are made: each looks at its scope first. */
export function scopedRoutes(more: Pick<Route, 'waitMsMax'> = {}) {
  return (
    method: Route['method'],
    path: string,
    described: RouteDescription,
    handle: (request: ApiRequest) => ReturnType<Route['handle']>,
  ): DescribedRoute => ({
    method,
    path,
    ...described,
    query: { ...described.query, ...inNamespace, ...ofDatacenter },
    switches: 'presence',
    ...(method === 'PUT' && { atLeast: writesCatalog }),
    ...more,
    handle(request) {
      checkScope(request, request.service(site).datacenter)
      return handle(request)
    },
  })
}

/** Throws `invalid_argument` for another datacenter or namespace than there is. */
function checkScope(request: ApiRequest, datacenter: string): void {
  checkDatacenter(request.search.text('dc') ?? '', datacenter)
  for (const name of ['ns', 'namespace']) {
    if (!namespaceNames.includes(request.search.text(name))) {
      throw new MusterError(
        'invalid_argument',
        `${name}: services and checks are in namespace default`,
      )
    }
  }
}

export function checkDatacenter(named: string, datacenter: string): void {
  if (named === '' || named.toLowerCase() === datacenter.toLowerCase()) return
  throw new MusterError('invalid_argument', `No path to datacenter: this one is ${datacenter}`)
}

/** What `*` stands for, slashes included: clients in Go send names as they are. Throws `invalid_argument` where nothing is there. */
export function tailOf({ tail }: ApiRequest, what: string): string {
  if (tail === '') throw new MusterError('invalid_argument', `Missing ${what}`)
  return tail
}

export const ofNodeMeta = optionally({
  'node-meta': text('`key:value` that the node must have, once or several times'),
})

/** `node-meta=key:value`, each name once or several times. */
export function nodeMeta(request: ApiRequest): readonly (readonly [string, string])[] {
  return request.search.all('node-meta').map((text) => {
    const cut = text.indexOf(':')
    return cut < 0 ? ([text, ''] as const) : ([text.slice(0, cut), text.slice(cut + 1)] as const)
  })
}

export function filterOf(request: ApiRequest): string {
  return request.search.text('filter') ?? ''
}

export function listed({
  value,
  filtered,
}: {
  readonly value: unknown
  readonly filtered: boolean
}): ApiReply {
  return { json: value, filtered }
}
