/** `/v1/acl/bootstrap`, `/v1/acl/tokens` and `/v1/acl/token/…`: bodies of Consul and of Nomad are read, one shape is shown. */
import { Type } from 'typebox'
import { Fields } from '../../api/fields.ts'
import { refuseOutOfScope } from '../../api/out-of-scope.ts'
import { listReply, pageOf } from '../../api/pages.ts'
import {
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
  smallBodyBytesMax,
} from '../../api/route.ts'
import { blocking, listing, flag, ok, optionally, text } from '../../api/shape.ts'
import { parseDurationMs } from '../../lib/duration.ts'
import { MusterError } from '../../lib/errors.ts'
import type { CreatedToken } from './issue.ts'
import { aclMethods } from './methods.ts'
import type { TokenType } from './model.ts'
import {
  BootstrapBody,
  CreatedToken as CreatedTokenShape,
  NewTokenBody,
  Token as TokenShape,
  TokenBody,
  TokenSelf,
} from './shapes.ts'
import { shownToken } from './shown.ts'

const list = async (request: ApiRequest): Promise<ApiReply> => {
  const { value } = await request.query(aclMethods.list, {
    ...pageOf(request),
    policy: request.search.text('policy') ?? '',
    role: request.search.text('role') ?? '',
  })
  return listReply(value)
}

const bootstrap = async (request: ApiRequest): Promise<ApiReply> => {
  const fields = optionalFields(request)
  const secret = fields?.text('BootstrapSecret') || null
  return created(await request.call(aclMethods.bootstrap, { secret }))
}

const create = async (request: ApiRequest): Promise<ApiReply> => {
  const fields = bodyOf(request)
  for (const name of ['AccessorID', 'SecretID']) {
    if ((fields.text(name) ?? '') !== '') {
      throw new MusterError(
        'invalid_argument',
        `${name} is drawn by the cluster: leave it out${name === 'AccessorID' ? ', or name the token in the path to change it' : ''}`,
      )
    }
  }
  const token = tokenFieldsOf(fields)
  if (token.type === 'management') refuseMembers(token)
  return created(await request.call(aclMethods.create, { ...token, ...expirationOf(fields) }))
}

/** Who makes one with policies may believe that it is limited to these. */
function refuseMembers({ policies, roles }: ReturnType<typeof tokenFieldsOf>): void {
  const member = policies?.length ? 'Policies' : roles?.length ? 'Roles' : null
  if (member === null) return
  const text = `${member} must be empty where Type is management: such a token may do everything`
  throw new MusterError('invalid_argument', text)
}

const update = async (request: ApiRequest): Promise<ApiReply> => {
  refuseOutOfScope(request.path)
  const accessor = request.parameter('accessor')
  const fields = bodyOf(request)
  const named = fields.text('AccessorID') ?? ''
  if (named !== '' && named.toLowerCase() !== accessor.toLowerCase()) {
    throw new MusterError('invalid_argument', 'AccessorID differs from the accessor in the path')
  }
  const row = await request.call(aclMethods.update, { accessor, ...tokenFieldsOf(fields) })
  return { json: shownToken(row), index: row.modifyIndex }
}

const ofToken = { accessor: text('Accessor of the token') }
const ofPolicyOrRole = optionally({
  policy: text('Only those that have this policy'),
  role: text('Only those that have this role'),
})

export const tokenRoutes: readonly DescribedRoute[] = [
  {
    method: 'PUT',
    path: '/v1/acl/bootstrap',
    summary: 'Make the first token',
    permission: 'none',
    bodySchema: BootstrapBody,
    reply: ok(CreatedTokenShape),
    example: { body: {}, keeps: { secret: 'SecretID' } },
    bodyBytesMax: smallBodyBytesMax,
    handle: bootstrap,
  },
  {
    method: 'GET',
    path: '/v1/acl/tokens',
    summary: 'List tokens',
    permission: 'acl:read',
    query: { ...blocking, ...listing, ...ofPolicyOrRole },
    reply: ok(Type.Array(TokenShape)),
    example: {},
    handle: list,
  },
  {
    method: 'PUT',
    path: '/v1/acl/token',
    summary: 'Make a token',
    permission: 'acl:write',
    bodySchema: NewTokenBody,
    reply: ok(CreatedTokenShape),
    example: {
      body: { Name: 'ci', Type: 'management', ExpirationTTL: '8h' },
      keeps: { accessor: 'AccessorID' },
    },
    bodyBytesMax: smallBodyBytesMax,
    handle: create,
  },
  {
    method: 'GET',
    path: '/v1/acl/token/self',
    summary: 'Read the token of the request',
    permission: 'any token',
    query: { ...blocking, ...optionally({ expanded: flag('With its policies and roles') }) },
    reply: ok(TokenSelf),
    example: { url: '/v1/acl/token/self?expanded=true' },
    handle: async (request) => {
      const expanded = request.search.flag('expanded')
      return { json: (await request.query(aclMethods.self, { expanded })).value }
    },
  },
  {
    method: 'GET',
    path: '/v1/acl/token/:accessor',
    summary: 'Read a token',
    permission: 'acl:read',
    params: ofToken,
    query: blocking,
    reply: ok(TokenShape),
    errors: ['not_found'],
    example: { url: '/v1/acl/token/{accessor}' },
    handle: async (request) => {
      const accessor = request.parameter('accessor')
      const { value } = await request.query(aclMethods.read, { accessor })
      return value === null ? { status: 404, text: 'ACL token not found' } : { json: value }
    },
  },
  {
    method: 'PUT',
    path: '/v1/acl/token/:accessor',
    summary: 'Change a token',
    permission: 'acl:write',
    params: ofToken,
    bodySchema: TokenBody,
    reply: ok(TokenShape),
    errors: ['not_found'],
    example: { url: '/v1/acl/token/{accessor}', body: { Description: 'Builds' } },
    bodyBytesMax: smallBodyBytesMax,
    handle: update,
  },
  {
    method: 'DELETE',
    path: '/v1/acl/token/:accessor',
    summary: 'Delete a token',
    permission: 'acl:write',
    params: ofToken,
    reply: ok(Type.Literal(true)),
    errors: ['not_found', 'conflict'],
    example: { url: '/v1/acl/token/{accessor}' },
    handle: async (request) => {
      const accessor = request.parameter('accessor')
      const { index } = await request.call(aclMethods.remove, { accessor })
      return { json: true, index }
    },
  },
]

export function bodyOf(request: ApiRequest): Fields {
  return new Fields(request.json, { anyCase: true })
}

function optionalFields(request: ApiRequest): Fields | null {
  return request.json === undefined ? null : bodyOf(request)
}

/** Names as texts, or as objects with a Name or an ID. */
export function namesOf(fields: Fields, member: string): readonly string[] | null {
  const list = fields.list(member)
  if (list === undefined) return null
  return list.map((item) => {
    if (typeof item === 'string') return item
    const link = new Fields(item, { anyCase: true }, `${member}.`)
    const name = link.text('Name') || link.text('ID')
    if (name !== undefined && name !== '') return name
    throw new MusterError('invalid_argument', `${member}: every entry needs a Name`)
  })
}

function tokenFieldsOf(fields: Fields) {
  return {
    name: fields.text('Name') ?? null,
    description: fields.text('Description') ?? null,
    type: typeOf(fields.text('Type') ?? ''),
    policies: namesOf(fields, 'Policies'),
    roles: namesOf(fields, 'Roles'),
  }
}

function typeOf(text: string): TokenType | null {
  if (text === '') return null
  if (text === 'client' || text === 'management') return text
  throw new MusterError('invalid_argument', 'Type must be client or management')
}

const nanosecondsPerMs = 1e6

export function expirationOf(fields: Fields) {
  const ttl = fields.raw('ExpirationTTL')
  const time = fields.text('ExpirationTime') ?? ''
  const expirationTimeMs = time === '' ? null : Date.parse(time)
  if (expirationTimeMs !== null && !/^\d{4}-\d\d-\d\dT/.test(time)) throw badTime()
  if (Number.isNaN(expirationTimeMs)) throw badTime()
  return { ttlMs: ttlMsOf(ttl), expirationTimeMs }
}

/** A duration as text, or nanoseconds. Nothing, an empty text and 0 mean no end. */
function ttlMsOf(ttl: unknown): number | null {
  if (ttl === undefined || ttl === '' || ttl === 0) return null
  const ms =
    typeof ttl === 'string'
      ? parseDurationMs(ttl)
      : typeof ttl === 'number'
        ? ttl / nanosecondsPerMs
        : undefined
  if (ms !== undefined) return ms
  throw new MusterError(
    'invalid_argument',
    'ExpirationTTL must be a duration such as 8h, or nanoseconds',
  )
}

function badTime(): MusterError {
  return new MusterError(
    'invalid_argument',
    'ExpirationTime must be a time such as 2030-01-31T12:00:00Z',
  )
}

function created({ row, secret }: CreatedToken): ApiReply {
  const { AccessorID, ...rest } = shownToken(row)
  return { json: { AccessorID, SecretID: secret, ...rest }, index: row.modifyIndex }
}
