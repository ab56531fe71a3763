/** `/v1/sys/internal/ui/mounts` and `/v1/sys/capabilities-self`. */
import { Type } from 'typebox'
import { CoercedFields } from '../../api/coerced-fields.ts'
import { dataReply, envelope } from '../../api/envelope.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { consistency, mapOf, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { ShownMount } from './shapes.ts'
import { shownMount } from './shown.ts'
import { pathsMax, uiMethods } from './ui-methods.ts'

const Capabilities = Type.Array(Type.String())

export const uiRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/sys/internal/ui/mounts',
    summary: 'List the mounts that the caller may see',
    permission: 'filtered',
    query: consistency,
    reply: dataReply(Type.Object({ auth: mapOf(ShownMount), secret: Type.Object({}) })),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(uiMethods.visible, {})
      const auth = Object.fromEntries(
        value.map((mount) => [`${mount.path}/`, shownMount(mount)] as const),
      )
      return envelope(request, { data: { auth, secret: {} } })
    },
  },
  {
    method: 'GET',
    path: '/v1/sys/internal/ui/mounts/*',
    summary: 'Read the mount that a path lies below',
    permission: 'filtered',
    params: { '*': text('`auth/<mount>`, or what is below it') },
    query: consistency,
    reply: dataReply(Type.Object({ path: Type.String(), ...ShownMount.properties })),
    example: { url: '/v1/sys/internal/ui/mounts/auth/ldap/config' },
    handle: async (request) => {
      const path = request.tail.replaceAll(/\/+$/g, '')
      const { value } = await request.query(uiMethods.over, { path })
      // Whether there is none, or the caller may do nothing there.
      if (value === null)
        throw new MusterError('permission_denied', 'there is no mount that the caller may see')
      return envelope(request, { data: { path: `auth/${value.path}/`, ...shownMount(value) } })
    },
  },
  {
    method: 'POST',
    path: '/v1/sys/capabilities-self',
    summary: 'What the caller may do at paths',
    permission: 'filtered',
    query: consistency,
    bodySchema: Type.Object({ paths: Type.Array(Type.String()) }),
    bodyBytesMax: smallBodyBytesMax,
    reply: dataReply(mapOf(Capabilities), Capabilities),
    example: { body: { paths: ['auth/ldap/config'] } },
    handle: async (request) => {
      const fields = new CoercedFields(request.json)
      const paths = fields.list('paths') ?? fields.list('path') ?? []
      if (paths.length === 0 || paths.length > pathsMax) {
        throw new MusterError('invalid_argument', `paths must name 1 to ${pathsMax} paths`)
      }
      const { value } = await request.query(uiMethods.capabilities, { paths })
      const [first] = value
      const data = Object.fromEntries([...value, ['capabilities', first?.[1] ?? []] as const])
      return envelope(request, { data, beside: data })
    },
  },
]
