/**
 * `/v1/acl/explain`: which requirement a request has, and what a token's rules make of it. The request is named in the body,
 * or in the query when there is none.
 */
import { probe, type Probed } from '../../api/probe.ts'
import type { ApiReply, ApiRequest, DescribedRoute, Route } from '../../api/route.ts'
import { RouteTable } from '../../api/route-table.ts'
import { blocking, ok, optionally, text } from '../../api/shape.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { serviceKey } from '../../rpc/services.ts'
import { explainMethods } from './explain-methods.ts'
import { ExplainBody, Explained } from './shapes.ts'

/** Provided by the process: all that it can be asked, these routes among it. */
export const composed = serviceKey<{ readonly routes: readonly Route[] }>('composed')

type Requirement = Parameters<(typeof explainMethods)['explanation']['requires']>[0]['requirement']

/** Sent in place of a body that was not given: with these, every route comes to what it requires. */
const exampleBodies: readonly unknown[] = [
  {
    Name: 'example',
    TTL: '10s',
    Status: 'passing',
    Rules: '',
    Policies: ['example'],
    Items: { example: '' },
    Key: Buffer.alloc(32).toString('base64'),
  },
  { Node: 'example', Address: '192.0.2.1' },
  [{ KV: { Verb: 'set', Key: 'example', Value: '' } }],
]
const ofExample = 'what the body names: an example was judged, give the body for an exact answer'

type Wanted = {
  /** Accessor or secret; empty: a caller without a token. */
  readonly token: string
  readonly method: string
  readonly url: string
  /** Null: none is given. */
  readonly body: Uint8Array | null
}

/** `all` is asked when a request comes, for these routes are among them. */
const handle = async (request: ApiRequest): Promise<ApiReply> => {
  await request.call(explainMethods.mayExplain, {})
  const wanted = wantedBy(request)
  const { routes } = request.service(composed)
  const { route, asked, isExample } = await probed(routes, wanted, request.service)
  const method = asked?.method
  const requirement: Requirement = method?.requires(asked?.args as never, request.service) ?? {
    resource: 'none',
  }
  const { token } = wanted
  const nowMs = request.clock.wallMs()
  const asking = { token, requirement, nowMs }
  const { value } = await request.query(explainMethods.explanation, asking)
  return {
    json: {
      Route: `${route.method} ${route.path}`,
      Asks: method?.name ?? null,
      Requirement: requirement,
      // Where the requirement follows from the body, or from what the agent has that the request is made to.
      DependsOn: isExample ? ofExample : (method?.missing ?? null),
      ...value,
    },
  }
}
/** The request to explain. */
const ofRequest = {
  path: text('Path of the request to explain'),
  ...optionally({
    method: text('`GET` unless said'),
    accessor: text('Accessor or secret of the token; without one: of requests without a token'),
  }),
}

export const explainRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/acl/explain',
    summary: 'Explain what a request requires and whether a token may',
    permission: 'acl:read',
    query: { ...blocking, ...ofRequest },
    reply: ok(Explained),
    errors: ['not_found'],
    example: { url: '/v1/acl/explain?method=PUT&path=/v1/kv/app/color' },
    handle,
  },
  {
    method: 'PUT',
    path: '/v1/acl/explain',
    summary: 'Explain a request that the body names, or without one the query',
    permission: 'acl:read',
    query: { ...blocking, ...optionally(ofRequest) },
    bodySchema: ExplainBody,
    reply: ok(Explained),
    errors: ['not_found'],
    example: { body: { Method: 'PUT', Path: '/v1/kv/app/color' } },
    atLeast: [{ resource: 'acl', access: 'read' }],
    handle,
  },
]

function wantedBy(request: ApiRequest): Wanted {
  const { search } = request
  const fields = request.json === undefined ? null : request.fields()
  const body = fields?.raw('Body')
  const query = (fields?.text('Query') ?? '').replace(/^\?/, '')
  const path = (fields === null ? search.text('path') : fields.text('Path')) ?? ''
  const method = (fields === null ? search.text('method') : fields.text('Method')) ?? ''
  if (!path.startsWith('/')) {
    throw new MusterError(
      'invalid_argument',
      'name the request to explain, as in ?method=PUT&path=/v1/kv/app/x&accessor=… or as Method, Path and Token in a JSON body',
    )
  }
  return {
    token: (fields === null ? search.text('accessor') : fields.text('Token')) ?? '',
    method: (method || 'GET').toUpperCase(),
    url: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    body:
      body === undefined
        ? null
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  }
}

/** A route that wants a body, and was given none, is shown examples. Throws what it says of the request as it is. */
async function probed(
  routes: readonly Route[],
  { method, url, body }: Wanted,
  service: ApiRequest['service'],
): Promise<Probed & { readonly isExample: boolean }> {
  const table = new RouteTable(routes)
  try {
    const found = await probe(table, { method, url, body: body ?? Buffer.alloc(0) }, service)
    return { ...found, isExample: false }
  } catch (error) {
    if (body !== null || codeOf(error) !== 'invalid_argument') throw error
    for (const example of exampleBodies) {
      const bytes = Buffer.from(JSON.stringify(example))
      try {
        return { ...(await probe(table, { method, url, body: bytes }, service)), isExample: true }
      } catch (other) {
        if (codeOf(other) !== 'invalid_argument') throw other
      }
    }
    throw error
  }
}
