/**
 * Routes of login methods, which are served wherever the method is mounted. At the path that a type has from the start they
 * are routes like any other, described and counted one by one; below all other paths `/v1/auth/*` finds mount and route.
 */
import { Type } from 'typebox'
import { AuthShape, nothingThere } from '../../api/envelope.ts'
import { decodePath } from '../../api/request-path.ts'
import type { ApiReply, ApiRequest, DescribedRoute, RouteMethod } from '../../api/route.ts'
import { methodsServed, type RouteTable } from '../../api/route-table.ts'
import {
  consistency,
  listing,
  count,
  flag,
  jsonType,
  nullable,
  text,
  type Replies,
} from '../../api/shape.ts'
import { assert } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { serviceKey } from '../../rpc/services.ts'
import type { LoginMethod } from './login-type.ts'
import type { MountRow, MountType } from './model.ts'
import { loginMounts } from './services.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'

/** Where below a mount a request came. */
export type MountedAt = {
  readonly mount: MountRow
  /** Of the route's path, percent-decoded once. */
  parameter(name: string): string
  /** What `*` stands for, percent-decoded once, without slashes at the end. */
  readonly tail: string
}

/** A described route, but for its path, which begins below the mount: `config`, `role/:name`, `groups/*`. */
export type MountedRoute = Omit<DescribedRoute, 'path' | 'handle' | 'dialect'> & {
  readonly path: string
  handle(request: ApiRequest, at: MountedAt): ApiReply | Promise<ApiReply>
}

/** What a domain of a login method declares, and whose `routesAtFirstPath` it serves. */
export type LoginType = {
  readonly method: LoginMethod
  readonly routes: readonly MountedRoute[]
  /** Answers `POST /v1/sys/auth/<mount>/explain`, and judges the caller. Absent: the type cannot explain a login. */
  readonly explain?: (request: ApiRequest, mount: MountRow) => Promise<ApiReply>
}

export const mountedRoutes =
  serviceKey<ReadonlyMap<MountType, readonly MountedRoute[]>>('logins.mountedRoutes')

/** Of the types that can. */
export const loginExplanations =
  serviceKey<ReadonlyMap<MountType, NonNullable<LoginType['explain']>>>('logins.explanations')

const front = '/v1/auth/'
/** Below it are the endpoints of tokens, whatever is mounted: no mount has this path. */
export const tokenFront = `${front}token/`

/** The routes below `tokenFront`. */
export const tokenRoutes = serviceKey<RouteTable>('logins.tokenRoutes')

/** Of a body below any mount: PEM files of a configuration. A login sends far less, and needs no right. */
const bodyBytesMax = 262_144

/** The same routes at the path that the type is mounted at from the start. */
export function routesAtFirstPath({ method, routes }: LoginType): readonly DescribedRoute[] {
  return routes.map((route) => ({
    ...route,
    path: `${front}${method.type}/${route.path}`,
    // The mount may have been disabled.
    errors: [...new Set([...(route.errors ?? []), 'not_found' as const])],
    handle: (request) => serve(request, route.method),
  }))
}

/** Of any method: what a login, a read or a write below a mount answers. */
const anyReply: Replies = {
  200: {
    [jsonType]: Type.Object({
      request_id: Type.String(),
      lease_id: Type.String(),
      renewable: flag('Always false'),
      lease_duration: count('Always 0'),
      data: Type.Unsafe({ description: 'As at the path that the type has from the start' }),
      wrap_info: Type.Null(),
      warnings: nullable(Type.Array(Type.String())),
      auth: nullable(AuthShape),
    }),
  },
  204: {},
}

/** For mounts elsewhere, and for paths that no route has. They ask for no right; the method's own route does. */
export const anyMountRoutes: readonly DescribedRoute[] = (
  [
    ['GET', 'Read below a mounted login method'],
    ['PUT', 'Write or log in below a mounted login method'],
    ['DELETE', 'Delete below a mounted login method'],
    ['LIST', 'List below a mounted login method'],
  ] as const
).map(([method, summary]) => ({
  method,
  path: `${front}*`,
  summary,
  permission: 'none',
  params: { '*': text('Path of the mount, and what is below it') },
  ...(method === 'GET' && { query: consistency }),
  ...(method === 'LIST' && { query: { ...consistency, ...listing } }),
  reply: anyReply,
  errors: ['not_found'],
  ...(method === 'PUT' && {
    bodySchema: Type.Unsafe({ description: 'As at the path that the type has from the start' }),
    bodyBytesMax,
    atLeast: [{ resource: 'auth', access: 'write' }],
  }),
  example: { url: `${front}elsewhere/config`, status: 404 },
  handle: (request) => {
    // The token endpoints have routes of their own: only a method that none of them has gets here.
    const allowed = request.service(tokenRoutes).methodsOf(request.path, request.dialect)
    return allowed.length > 0 ? notAllowed(allowed) : serve(request, method)
  },
}))

/** Rejects with 404 without a mount, and where the mount's type has no such path. */
async function serve(request: ApiRequest, asked: RouteMethod): Promise<ApiReply> {
  const raw = withoutSlashesAtEnd(request.path.slice(front.length)).split('/')
  const segments = raw.map(decodePath)
  const kind = asked === 'GET' || asked === 'LIST' ? 'read' : 'write'
  return request
    .service(loginMounts)
    .using(segments, kind, (mount) => serveBelow(mount, segments, request, asked))
}

async function serveBelow(
  mount: MountRow | null,
  segments: readonly string[],
  request: ApiRequest,
  asked: RouteMethod,
): Promise<ApiReply> {
  const routes = mount === null ? [] : (request.service(mountedRoutes).get(mount.type) ?? [])
  if (mount === null || routes.length === 0) throw nothingAt(asked, noMountText(segments))
  const below = segments.slice(mount.path.split('/').length)
  const fitting = routes.filter((known) => fits(placed(known).pattern, below))
  if (fitting.length === 0)
    throw nothingAt(asked, `the login method at ${mount.path}/ has no such path`)
  const route = fitting.find((known) => placed(known).methods.includes(asked))
  if (route === undefined) return notAllowed(fitting.flatMap((known) => placed(known).methods))
  return route.handle(request, {
    mount,
    parameter: (name) => {
      const place = placed(route).pattern.indexOf(`:${name}`)
      assert(place >= 0, `route ${route.path} has no parameter ${name}`)
      return below[place] ?? ''
    },
    tail: below.slice(placed(route).pattern.length - 1).join('/'),
  })
}

function noMountText([first]: readonly string[]): string {
  return first === 'token'
    ? 'the token endpoints have no such path'
    : 'no login method is mounted there: GET /v1/sys/auth lists those that are'
}

/** What reads is told that there is nothing; what writes, why nothing was done. */
function nothingAt(asked: RouteMethod, reason: string): MusterError {
  return asked === 'PUT' ? new MusterError('not_found', reason) : nothingThere()
}

type Placed = { readonly pattern: readonly string[]; readonly methods: readonly string[] }

/** What each request would have to find out again. */
const placedRoutes = new WeakMap<MountedRoute, Placed>()

function placed(route: MountedRoute): Placed {
  const known = placedRoutes.get(route)
  if (known !== undefined) return known
  const found = { pattern: route.path.split('/'), methods: methodsServed(full(route)) }
  placedRoutes.set(route, found)
  return found
}

/** Segment by segment; `*` stands for one or more at the end. */
function fits(pattern: readonly string[], below: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? below.length < pattern.length : below.length !== pattern.length) return false
  return pattern.every(
    (part, place) =>
      part === '*' || (part.startsWith(':') ? below[place] !== '' : below[place] === part),
  )
}

function notAllowed(methods: readonly string[]): ApiReply {
  return {
    status: 405,
    json: { errors: [] },
    headers: { Allow: [...new Set(methods)].sort().join(', ') },
  }
}

function full(route: MountedRoute): DescribedRoute {
  return { ...route, handle: () => ({}) }
}
