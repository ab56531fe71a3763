/** `/v1/session/*`: shapes of HTTP to methods and back. */
import { Type } from 'typebox'
import { HttpRefusal } from '../../api/errors.ts'
import { Fields } from '../../api/fields.ts'
import { oneNamespace } from '../../api/one-namespace.ts'
import { listReply, pageOf } from '../../api/pages.ts'
import { named } from '../../api/path-parameter.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, inNamespace, listing, ok, text } from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { formatDurationMs } from '../../lib/duration.ts'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import { sessionMethods } from './methods.ts'
import {
  boundChecksMax,
  checkBehavior,
  checkIdLengthMax,
  defaultNamespace,
  stretchedMs,
  ttlMsOf,
  type ServiceCheck,
  type SessionPlace,
  type SessionRow,
} from './model.ts'
import { CreatedSession, Session, SessionBody } from './shapes.ts'
import { shownSession } from './shown.ts'

/** Of the longest names of as many checks of both kinds as a session may have, in any script. */
const sessionBodyBytesMax = 2 * boundChecksMax * 4 * (checkIdLengthMax + 64) + 16_384

/** Longest wait of a blocking query, as Consul caps it. */
const waitMsMax = 600_000

const read = { method: 'GET', switches: 'presence', waitMsMax } as const
const write = { method: 'PUT', switches: 'presence' } as const

const info = async (request: ApiRequest): Promise<ApiReply> => {
  const { value } = await request.query(sessionMethods.read, placeOf(request))
  return { json: value === null ? [] : [shownSession(value)] }
}

const list = async (request: ApiRequest): Promise<ApiReply> => {
  const { value } = await request.query(sessionMethods.list, {
    ...pageOf(request),
    namespace: namespaceOf(request),
  })
  return { ...listReply(value, shownSession), filteredForAll: true }
}

const ofNode = async (request: ApiRequest): Promise<ApiReply> => {
  const node = named(request, 'node', 'node name')
  const { value } = await request.query(sessionMethods.ofNode, {
    ...pageOf(request),
    namespace: namespaceOf(request),
    node,
  })
  return { ...listReply(value, shownSession), filteredForAll: true }
}

const create = async (request: ApiRequest): Promise<ApiReply> => {
  const fields = new Fields(request.json ?? {}, { anyCase: true })
  const node = fields.text('Node')
  if (node === '') throw new MusterError('invalid_argument', 'Missing node name')
  const creating = request.call(sessionMethods.create, {
    namespace: oneNamespace(request.namespace),
    name: fields.text('Name') ?? '',
    node: node ?? request.service(site).name,
    lockDelay: lockDelayOf(fields),
    behavior: checkBehavior(fields.text('Behavior') ?? ''),
    ttl: fields.text('TTL') ?? '',
    serviceChecks: serviceChecksOf(fields),
    ...listsOf(fields),
    ...(request.dialect === 'consul' && { doubled: true }),
  })
  const row = await creating.catch((error: unknown) => {
    // Consul's clients try again after 500 alone.
    if (request.dialect !== 'consul' || codeOf(error) !== 'conflict') throw error
    throw new HttpRefusal(500, textOf(error))
  })
  return { json: { ID: row.id } }
}

const renew = async (request: ApiRequest): Promise<ApiReply> => {
  const place = placeOf(request)
  const { row, stretch } = await request.call(sessionMethods.renew, place)
  if (row === null) {
    throw new MusterError('not_found', `Session id ${JSON.stringify(place.id)} not found`)
  }
  return {
    json: [{ ...shownSession(row), ...(stretch > 1 ? { TTL: stretched(row, stretch) } : {}) }],
  }
}

const destroy = async (request: ApiRequest): Promise<ApiReply> => {
  await request.call(sessionMethods.destroy, placeOf(request))
  return { json: true }
}

const ofSession = { uuid: text('Id of the session') }

export const sessionRoutes: readonly DescribedRoute[] = [
  {
    ...write,
    path: '/v1/session/create',
    summary: 'Create a session',
    permission: 'session:write',
    query: inNamespace,
    bodySchema: SessionBody,
    reply: ok(CreatedSession),
    errors: ['conflict'],
    example: {
      body: { Name: 'backup', Node: 'web-1', TTL: '30s', NodeChecks: [] },
      keeps: { session: 'ID' },
    },
    bodyBytesMax: sessionBodyBytesMax,
    atLeast: [{ resource: 'session', access: 'write' }],
    handle: create,
  },
  {
    ...write,
    path: '/v1/session/destroy/:uuid',
    summary: 'End a session',
    permission: 'session:write',
    params: ofSession,
    query: inNamespace,
    reply: ok(Type.Literal(true)),
    example: { url: '/v1/session/destroy/0b0c1d2e-0000-4000-8000-000000000001' },
    body: 'none',
    handle: destroy,
  },
  {
    ...write,
    path: '/v1/session/renew/:uuid',
    summary: 'Renew a session',
    permission: 'session:write',
    params: ofSession,
    query: inNamespace,
    reply: ok(Type.Array(Session)),
    errors: ['not_found'],
    example: { url: '/v1/session/renew/{session}' },
    body: 'none',
    handle: renew,
  },
  {
    ...read,
    path: '/v1/session/info/:uuid',
    summary: 'Read a session',
    permission: 'filtered',
    params: ofSession,
    query: { ...blocking, ...inNamespace },
    reply: ok(Type.Array(Session)),
    example: { url: '/v1/session/info/{session}' },
    handle: info,
  },
  {
    ...read,
    path: '/v1/session/node/:node',
    summary: 'List the sessions of a node',
    permission: 'filtered',
    params: { node: text('Name of the node') },
    query: { ...blocking, ...inNamespace, ...listing },
    reply: ok(Type.Array(Session)),
    example: { url: '/v1/session/node/web-1' },
    handle: ofNode,
  },
  {
    ...read,
    path: '/v1/session/list',
    summary: 'List sessions',
    permission: 'filtered',
    query: { ...blocking, ...inNamespace, ...listing },
    reply: ok(Type.Array(Session)),
    example: {},
    handle: list,
  },
]

function placeOf(request: ApiRequest): SessionPlace {
  return { namespace: oneNamespace(request.namespace), id: named(request, 'uuid', 'session') }
}

function namespaceOf(request: ApiRequest): string {
  return request.namespace ?? defaultNamespace
}

function lockDelayOf(fields: Fields): string | number | null {
  const value = fields.raw('LockDelay')
  if (value === undefined) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new MusterError('invalid_argument', 'LockDelay must be a duration such as 15s')
}

/** What is not given stays so: an empty list binds to nothing, no list to the membership check. */
function listsOf(fields: Fields): {
  readonly nodeChecks: string[] | null
  readonly checks: string[] | null
} {
  const nodeChecks = fields.texts('NodeChecks')
  const checks = fields.texts('Checks')
  return {
    nodeChecks: nodeChecks === undefined ? null : [...nodeChecks],
    checks: checks === undefined ? null : [...checks],
  }
}

function serviceChecksOf(fields: Fields): ServiceCheck[] | null {
  const list = fields.list('ServiceChecks')
  if (list === undefined) return null
  return list.map((item, at) => {
    const check = new Fields(item, { anyCase: true }, `ServiceChecks ${at}.`)
    return { id: check.text('ID') ?? '', namespace: check.text('Namespace') ?? '' }
  })
}

/** The time a session has from a renewal under load. */
function stretched(row: SessionRow, stretch: number): string {
  const ttlMs = ttlMsOf(row.ttl)
  return ttlMs === null ? row.ttl : formatDurationMs(stretchedMs(ttlMs, stretch))
}
