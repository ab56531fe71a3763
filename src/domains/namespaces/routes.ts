/** `/v1/namespaces`, `/v1/namespace/:name` and `PUT /v1/namespace`. */
import { listReply, pageOf } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import { namespacesDelete, namespacesList, namespacesPut, namespacesRead } from './methods.ts'
import { metaBytesMax } from './model.ts'
import { shownNamespace } from './shown.ts'

/** Every letter of the largest metadata may be escaped. */
const namespaceBodyBytesMax = 6 * metaBytesMax + 16_384

export const namespaceRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/namespaces',
    handle: async (request) => {
      const { value } = await request.query(namespacesList, pageOf(request))
      return listReply(value, shownNamespace)
    },
  },
  {
    method: 'GET',
    path: '/v1/namespace/:name',
    handle: async (request) => {
      const { value } = await request.query(namespacesRead, { name: request.parameter('name') })
      return value === null
        ? { status: 404, text: 'namespace not found' }
        : { json: shownNamespace(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/namespace/:name',
    bodyBytesMax: namespaceBodyBytesMax,
    atLeast: [{ resource: 'operator', access: 'write' }],
    handle: (request) => putNamespace(request, request.parameter('name')),
  },
  {
    method: 'PUT',
    path: '/v1/namespace',
    bodyBytesMax: namespaceBodyBytesMax,
    atLeast: [{ resource: 'operator', access: 'write' }],
    handle: (request) => putNamespace(request, null),
  },
  {
    method: 'DELETE',
    path: '/v1/namespace/:name',
    handle: async (request) => {
      const { index } = await request.call(namespacesDelete, { name: request.parameter('name') })
      return { index }
    },
  },
]

async function putNamespace(request: ApiRequest, named: string | null): Promise<ApiReply> {
  const fields = request.fields()
  const written = fields.text('Name') ?? ''
  if (named !== null && written !== '' && written !== named) {
    throw new MusterError('invalid_argument', 'Name differs from the name in the path')
  }
  const row = await request.call(namespacesPut, {
    name: named ?? written,
    description: fields.text('Description') ?? '',
    meta: (fields.textPairs('Meta') ?? []).map(([key, value]): [string, string] => [key, value]),
  })
  return { json: shownNamespace(row), index: row.modifyIndex }
}
