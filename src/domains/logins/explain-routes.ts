/** `POST /v1/sys/auth/<mount>/explain`: what a login would come to, step by step. The mount's type explains. */
import { Type } from 'typebox'
import { dataReply } from '../../api/envelope.ts'
import { smallBodyBytesMax, type ApiReply } from '../../api/route.ts'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { mayExplainLogin } from './explain-methods.ts'
import { loginExplanations } from './mounted-routes.ts'
import { loginMounts } from './services.ts'

export const explainSuffix = '/explain'

export const explainRoutes: readonly DescribedRoute[] = [
  {
    method: 'POST',
    path: `/v1/sys/auth/:path${explainSuffix}`,
    summary: 'Explain a login',
    permission: 'acl:read',
    params: { path: text('Path of the mount: one segment') },
    bodySchema: Type.Unsafe({ description: 'What a login of the mount’s type is sent' }),
    bodyBytesMax: smallBodyBytesMax,
    reply: dataReply(Type.Unsafe({ description: 'Steps and verdict, by the type of the mount' })),
    errors: ['not_found', 'not_implemented'],
    example: {
      url: '/v1/sys/auth/orchestrator/explain',
      body: { role: 'till', jwt: 'eyJhbGciOi…' },
      shownOnly: 'there is no orchestrator',
    },
    handle: (request) => explainBelow(request, request.parameter('path')),
  },
]

/** `path`: of the mount. */
export async function explainBelow(request: ApiRequest, path: string): Promise<ApiReply> {
  await request.call(mayExplainLogin, {})
  return request.service(loginMounts).using(path.split('/'), 'write', async (mount) => {
    if (mount === null || mount.path !== path) {
      throw new MusterError('not_found', 'no login method is enabled at this path')
    }
    const explain = request.service(loginExplanations).get(mount.type)
    if (explain === undefined) {
      throw new MusterError('not_implemented', `logins of the type ${mount.type} are not explained`)
    }
    return explain(request, mount)
  })
}
