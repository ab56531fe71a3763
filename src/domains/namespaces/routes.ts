/** `/v1/namespaces`, `/v1/namespace/:name` and `PUT /v1/namespace`. */
import { Type } from 'typebox'
import { listReply, pageOf } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, done, listing, ok } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { namespacesDelete, namespacesList, namespacesPut, namespacesRead } from './methods.ts'
import { metaBytesMax, NamespaceName } from './model.ts'
import { Namespace, NamespaceBody } from './shapes.ts'
import { shownNamespace } from './shown.ts'
import { checkUnserved } from './unserved.ts'

/** Every letter of the largest metadata may be escaped. */
const namespaceBodyBytesMax = 6 * metaBytesMax + 16_384

const named = { name: NamespaceName }

export const namespaceRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/namespaces',
    summary: 'List namespaces',
    permission: 'filtered',
    query: { ...blocking, ...listing },
    reply: ok(Type.Array(Namespace)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(namespacesList, pageOf(request))
      return listReply(value, shownNamespace)
    },
  },
  {
    method: 'GET',
    path: '/v1/namespace/:name',
    summary: 'Read a namespace',
    permission: 'namespace:read',
    params: named,
    query: blocking,
    reply: ok(Namespace),
    errors: ['not_found'],
    example: { url: '/v1/namespace/default' },
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
    summary: 'Create or change a namespace',
    permission: 'operator:write',
    params: named,
    bodySchema: NamespaceBody,
    reply: ok(Namespace),
    example: { url: '/v1/namespace/app', body: { Description: 'The shop', Meta: { team: 'web' } } },
    bodyBytesMax: namespaceBodyBytesMax,
    atLeast: [{ resource: 'operator', access: 'write' }],
    handle: (request) => putNamespace(request, request.parameter('name')),
  },
  {
    method: 'PUT',
    path: '/v1/namespace',
    summary: 'Create or change the namespace that the body names',
    permission: 'operator:write',
    bodySchema: NamespaceBody,
    reply: ok(Namespace),
    example: { body: { Name: 'app', Description: 'The shop' } },
    bodyBytesMax: namespaceBodyBytesMax,
    atLeast: [{ resource: 'operator', access: 'write' }],
    handle: (request) => putNamespace(request, null),
  },
  {
    method: 'DELETE',
    path: '/v1/namespace/:name',
    summary: 'Delete a namespace',
    permission: 'operator:write',
    params: named,
    reply: done,
    errors: ['not_found', 'conflict'],
    example: { url: '/v1/namespace/app' },
    handle: async (request) => {
      const { index } = await request.call(namespacesDelete, { name: request.parameter('name') })
      return { index }
    },
  },
]

async function putNamespace(request: ApiRequest, named: string | null): Promise<ApiReply> {
  const fields = request.fields()
  checkUnserved((name) => fields.raw(name))
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
