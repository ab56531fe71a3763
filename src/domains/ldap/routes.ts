/** What is served below a directory mount, with the login itself. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import { authReply, envelope } from '../../api/envelope.ts'
import { smallBodyBytesMax } from '../../api/route.ts'
import { text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import type { MountedRoute } from '../logins/mounted-routes.ts'
import { configRoutes } from './config-routes.ts'
import { ldapLoginMethods, loginMsMax, passwordLengthMax } from './login-methods.ts'
import { mappingRoutes, named } from './mapping-routes.ts'
import { LoginBody } from './shapes.ts'

/** What `issueLogin` may take beside the directory. */
const issueMsMax = 30_000

export const ldapRoutes: readonly MountedRoute[] = [
  ...configRoutes,
  ...mappingRoutes,
  {
    method: 'POST',
    path: 'login/*',
    summary: 'Log in with a name and password of a directory',
    permission: 'none',
    params: { '*': text('Name of the user, slashes included') },
    bodySchema: LoginBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: authReply,
    example: { url: '/v1/auth/ldap/login/ada', body: { password: 'secret' }, status: 400 },
    handle: async (request, at) => {
      const { at: mount, name } = named(at)
      const password = new CoercedFields(request.json).string('password') ?? ''
      if (password.length > passwordLengthMax) {
        throw new MusterError('invalid_argument', 'the password is too long')
      }
      const issued = await request.call(
        ldapLoginMethods.login,
        { at: mount, username: name, password },
        { timeoutMs: loginMsMax + issueMsMax },
      )
      return envelope(request, issued)
    },
  },
]
