/** `PUT /v1/acl/explain`: which requirement a request has, and what a token's rules make of it. */
import { probe } from '../../api/probe.ts'
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { bodyOf } from './routes.ts'
import type { ExplainMethods } from './explain-methods.ts'

type Known = {
  readonly name: string
  readonly requires: (args: never) => Requirement
}
type Requirement = Parameters<ExplainMethods['explanation']['requires']>[0]['requirement']

/** `all` is asked when a request comes, for this route is one of them. */
export function explainRoute(
  methods: ExplainMethods,
  all: () => { readonly routes: readonly Route[]; readonly methods: readonly Known[] },
): Route {
  const handle = async (request: ApiRequest): Promise<ApiReply> => {
    try {
      await request.call(methods.mayExplain, {})
    } catch (error) {
      if (codeOf(error) !== 'permission_denied') throw error
      // The server's log has the refusal under this number.
      throw new MusterError('permission_denied', `Permission denied, request ${request.requestId}`)
    }
    const fields = bodyOf(request)
    const body = fields.raw('Body')
    const query = (fields.text('Query') ?? '').replace(/^\?/, '')
    const path = fields.text('Path') ?? ''
    if (!path.startsWith('/')) {
      throw new MusterError('invalid_argument', 'Path must be one of this API, as in /v1/kv/app/x')
    }
    const { routes, methods: known } = all()
    const { route, asked } = await probe(routes, {
      method: (fields.text('Method') || 'GET').toUpperCase(),
      url: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
      body: Buffer.from(
        body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
      ),
    })
    const method = known.find(({ name }) => name === asked?.method)
    const requirement: Requirement = method?.requires(asked?.args as never) ?? { resource: 'none' }
    const { value } = await request.query(methods.explanation, {
      token: fields.text('Token') ?? '',
      requirement,
    })
    return {
      json: {
        Route: `${route.method} ${route.path}`,
        Asks: asked?.method ?? null,
        Requirement: requirement,
        ...value,
      },
    }
  }
  return {
    method: 'PUT',
    path: '/v1/acl/explain',
    atLeast: [{ resource: 'acl', access: 'read' }],
    handle,
  }
}
