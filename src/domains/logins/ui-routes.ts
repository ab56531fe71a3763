/** `/v1/sys/internal/ui/mounts`. */
import { Type } from 'typebox'
import { dataReply, envelope } from '../../api/envelope.ts'
import type { DescribedRoute } from '../../api/route.ts'
import { consistency, mapOf, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { ShownMount } from './shapes.ts'
import { shownMount } from './shown.ts'
import { uiMethods } from './ui-methods.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'

/** What `vault kv` asks first, of a path below no method of logging in. */
const noEngines = (): MusterError =>
  new MusterError(
    'not_implemented',
    "Vault's secrets engines are not served; encrypted variables are at /v1/var/:path",
  )

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
      const path = withoutSlashesAtEnd(request.tail)
      const { value } = await request.query(uiMethods.over, { path })
      if (!/^auth(\/|$)/.test(path)) throw noEngines()
      // Whether there is none, or the caller may do nothing there.
      if (value === null)
        throw new MusterError('permission_denied', 'there is no mount that the caller may see')
      return envelope(request, { data: { path: `auth/${value.path}/`, ...shownMount(value) } })
    },
  },
]
