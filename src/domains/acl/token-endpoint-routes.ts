/** `/v1/auth/token/…`: the life of a token, as clients of Vault ask for it. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import {
  authReply,
  dataReply,
  envelope,
  envelopeOfText,
  keysEnvelope,
  keysReply,
  writtenReply,
} from '../../api/envelope.ts'
import { pageOf } from '../../api/pages.ts'
import {
  smallBodyBytesMax,
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
} from '../../api/route.ts'
import { blocking, listing, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { isBatchSecret } from './batch-tokens.ts'
import { hashOf } from './authorizer.ts'
import { lookupText } from './issued-shown.ts'
import { accessorLengthMax, endOf } from './model.ts'
import { checkTokenMeta, displayNameLengthMax, tokenCreateMethods } from './token-create-methods.ts'
import {
  AccessorBody,
  CreateBody,
  LookupBody,
  TokenLookup,
  RenewAccessorBody,
  RenewBody,
  RenewSelfBody,
  SecretBody,
} from './token-endpoint-shapes.ts'
import { lifetimeOf, usesOf } from './token-fields-routes.ts'
import { tokenLifeMethods } from './token-life-methods.ts'
import { entityAliasLengthMax, isTokenRoleName } from './token-role-model.ts'

type Which = { readonly by: 'self' } | BySecret | ByAccessor
type BySecret = { readonly by: 'token'; readonly hash: string }
type ByAccessor = { readonly by: 'accessor'; readonly accessor: string }

const small = { bodyBytesMax: smallBodyBytesMax } as const
const underToken = '/v1/auth/token'

export const tokenEndpointRoutes: readonly DescribedRoute[] = [
  ...(['create', 'create-orphan', 'create/:role'] as const).map(createRoute),
  {
    method: 'LIST',
    path: `${underToken}/accessors`,
    summary: 'List the accessors of tokens',
    permission: 'auth:list',
    query: { ...blocking, ...listing },
    reply: keysReply,
    errors: ['not_found'],
    example: {},
    handle: async (request) => {
      const { value } = await request.query(tokenLifeMethods.accessors, pageOf(request))
      return keysEnvelope(request, value)
    },
  },
  ...(['GET', 'POST'] as const).map((method): DescribedRoute => ({
    method,
    path: `${underToken}/lookup-self`,
    summary: 'Look up the token of the request',
    permission: 'auth:read',
    query: blocking,
    reply: dataReply(TokenLookup),
    example: {},
    ...small,
    handle: (request) => lookUp(request, ownSecret(request), { isSelf: true }),
  })),
  {
    method: 'GET',
    path: `${underToken}/lookup`,
    summary: 'Look up the token of the request, by the right to look up others',
    permission: 'auth:read',
    query: blocking,
    reply: dataReply(TokenLookup),
    example: {},
    ...small,
    handle: (request) => lookUp(request, ownSecret(request), { isRead: true }),
  },
  {
    method: 'POST',
    path: `${underToken}/lookup`,
    summary: 'Look up a token by its secret; without one the token of the request',
    permission: 'auth:write',
    bodySchema: LookupBody,
    query: blocking,
    reply: dataReply(TokenLookup),
    example: { body: { token: '{client_token}' } },
    ...small,
    handle: (request) => {
      const secret = fieldsOf(request).string('token') ?? ''
      return lookUp(request, secret === '' ? ownSecret(request) : secret)
    },
  },
  {
    method: 'POST',
    path: `${underToken}/lookup-accessor`,
    summary: 'Look up a token by its accessor',
    permission: 'auth:write',
    bodySchema: AccessorBody,
    query: blocking,
    reply: dataReply(TokenLookup),
    example: { body: { accessor: '{issued_accessor}' } },
    ...small,
    handle: (request) => show(request, byAccessor(fieldsOf(request)), ''),
  },
  {
    method: 'POST',
    path: `${underToken}/renew-self`,
    summary: 'Renew the token of the request',
    permission: 'auth:write',
    bodySchema: RenewSelfBody,
    reply: authReply,
    example: { body: { increment: '1h' }, shownOnly: 'the token of the tests has no lease' },
    ...small,
    handle: (request) => renew(request, { by: 'self' }, ownSecret(request)),
  },
  {
    method: 'POST',
    path: `${underToken}/renew`,
    summary: 'Renew a token by its secret',
    permission: 'auth:write',
    bodySchema: RenewBody,
    reply: authReply,
    example: { body: { token: '{client_token}', increment: '1h' } },
    ...small,
    handle: (request) => {
      const secret = secretOf(fieldsOf(request))
      return renew(request, bySecret(secret), secret)
    },
  },
  {
    method: 'POST',
    path: `${underToken}/renew-accessor`,
    summary: 'Renew a token by its accessor',
    permission: 'auth:write',
    bodySchema: RenewAccessorBody,
    reply: authReply,
    example: { body: { accessor: '{issued_accessor}', increment: 3600 } },
    ...small,
    handle: (request) => renew(request, byAccessor(fieldsOf(request)), ''),
  },
  {
    method: 'POST',
    path: `${underToken}/revoke-self`,
    summary: 'Revoke the token of the request, and those that were made with it',
    permission: 'auth:write',
    reply: writtenReply,
    example: { status: 204, shownOnly: 'the examples that follow need the token' },
    ...small,
    handle: (request) => revoke(request, { by: 'self' }, ownSecret(request)),
  },
  {
    method: 'POST',
    path: `${underToken}/revoke`,
    summary: 'Revoke a token by its secret, and those that were made with it',
    permission: 'auth:write',
    bodySchema: SecretBody,
    reply: writtenReply,
    example: { body: { token: '{orphan_token}' }, status: 204 },
    ...small,
    handle: (request) => {
      const secret = secretOf(fieldsOf(request))
      return revoke(request, bySecret(secret), secret)
    },
  },
  {
    method: 'POST',
    path: `${underToken}/revoke-accessor`,
    summary: 'Revoke a token by its accessor, and those that were made with it',
    permission: 'auth:write',
    bodySchema: AccessorBody,
    reply: writtenReply,
    example: { body: { accessor: '{issued_accessor}' }, status: 204 },
    ...small,
    handle: (request) => revoke(request, byAccessor(fieldsOf(request)), ''),
  },
  {
    method: 'POST',
    path: `${underToken}/revoke-orphan`,
    summary: 'Revoke a token by its secret and leave those that were made with it',
    permission: 'auth:write',
    bodySchema: SecretBody,
    reply: writtenReply,
    example: { body: { token: '{role_token}' }, status: 204 },
    ...small,
    handle: async (request) => {
      const secret = secretOf(fieldsOf(request))
      const asked = { hash: hashOf(secret), isBatch: isBatchSecret(secret) }
      await request.call(tokenLifeMethods.revokeOrphan, asked)
      return envelope(request, {})
    },
  },
]

function createRoute(form: 'create' | 'create-orphan' | 'create/:role'): DescribedRoute {
  const isByRole = form === 'create/:role'
  const kept = { create: 'client', 'create-orphan': 'orphan', 'create/:role': 'role' }[form]
  const summary = {
    create: 'Make a token that ends with the token of the request',
    'create-orphan': 'Make a token that ends with no other',
    'create/:role': 'Make a token by a role',
  }
  return {
    method: 'POST',
    path: `${underToken}/${form}`,
    summary: summary[form],
    permission: 'auth:write',
    ...(isByRole && {
      params: { role: text('Name of the role') },
      errors: ['not_found'] as const,
    }),
    bodySchema: CreateBody,
    reply: authReply,
    example: {
      ...(isByRole && { url: `${underToken}/create/builds` }),
      body: { policies: ['default'], ttl: '1h', meta: { team: 'ops' } },
      keeps: {
        [`${kept}_token`]: 'auth.client_token',
        ...(form === 'create' && { issued_accessor: 'auth.accessor' }),
      },
    },
    ...small,
    handle: async (request) => {
      const role = isByRole ? request.parameter('role') : null
      if (role !== null && !isTokenRoleName(role)) throw new MusterError('not_found', '')
      const wish = wishOf(fieldsOf(request))
      const orphan = form === 'create-orphan'
      return envelope(
        request,
        await request.call(tokenCreateMethods.create, { wish, role, orphan }),
      )
    },
  }
}

function wishOf(fields: CoercedFields) {
  if ((fields.string('id') ?? '') !== '') {
    throw new MusterError('invalid_argument', 'id is drawn by the cluster: leave it out')
  }
  const entityAlias = (fields.string('entity_alias') ?? '').trim().toLowerCase()
  if (entityAlias.length > entityAliasLengthMax) {
    throw new MusterError(
      'invalid_argument',
      `entity_alias has at most ${entityAliasLengthMax} characters`,
    )
  }
  return {
    policies: fields.list('policies') ?? [],
    ttlMs: lifetimeOf(fields, 'ttl', 'lease') ?? 0,
    explicitMaxTtlMs: lifetimeOf(fields, 'explicit_max_ttl') ?? 0,
    periodMs: lifetimeOf(fields, 'period') ?? 0,
    numUses: usesOf(fields, 'num_uses') ?? 0,
    renewable: fields.boolean('renewable') ?? true,
    metadata: checkTokenMeta(fields.pairs('meta') ?? []),
    displayName: fields.string('display_name', displayNameLengthMax) ?? '',
    type: typeOf(fields.string('type') ?? ''),
    noParent: fields.boolean('no_parent') ?? false,
    noDefaultPolicy: fields.boolean('no_default_policy') ?? false,
    entityAlias,
  }
}

function typeOf(type: string): string {
  if (type === '' || type === 'service' || type === 'batch') return type
  throw new MusterError('invalid_argument', 'type must be service or batch')
}

/** By which right: to look oneself up, to read at `lookup`, or to write there. */
type By = { readonly isSelf?: boolean; readonly isRead?: boolean }

function lookUp(request: ApiRequest, secret: string, by: By = {}): Promise<ApiReply> {
  return show(request, bySecret(secret), secret, by)
}

function show(
  request: ApiRequest,
  which: Which,
  secret: string,
  { isSelf = false, isRead = false }: By = {},
): Promise<ApiReply> {
  const batch = isBatchSecret(secret) ? secret : null
  const asked = request.query(tokenLifeMethods.lookup, {
    which,
    isSelf,
    ...(isRead && { isRead }),
    batch,
  })
  return asked.then(({ value }) => {
    const nowMs = request.clock.wallMs()
    if (value === null || endOf(value) <= nowMs) throw unknownToken()
    return envelopeOfText(request, lookupText(value, secret, nowMs))
  })
}

async function renew(request: ApiRequest, which: Which, secret: string): Promise<ApiReply> {
  const incrementMs = lifetimeOf(fieldsOf(request), 'increment') ?? 0
  const { auth, warnings } = await request.call(tokenLifeMethods.renew, {
    which,
    incrementMs,
    isBatch: isBatchSecret(secret),
  })
  return envelope(request, { auth: { ...auth, client_token: secret }, warnings })
}

async function revoke(request: ApiRequest, which: Which, secret: string): Promise<ApiReply> {
  await request.call(tokenLifeMethods.revoke, { which, isBatch: isBatchSecret(secret) })
  return envelope(request, {})
}

function fieldsOf({ json }: ApiRequest): CoercedFields {
  return new CoercedFields(json)
}

/** Without one the method refuses. */
function ownSecret({ token }: ApiRequest): string {
  return token ?? ''
}

function bySecret(secret: string): BySecret {
  return { by: 'token', hash: hashOf(secret) }
}

function secretOf(fields: CoercedFields): string {
  const secret = fields.string('token') ?? ''
  if (secret === '') throw new MusterError('invalid_argument', 'token is missing')
  return secret
}

function byAccessor(fields: CoercedFields): ByAccessor {
  const accessor = fields.string('accessor') ?? ''
  if (accessor === '') throw new MusterError('invalid_argument', 'accessor is missing')
  if (accessor.length > accessorLengthMax) throw unknownToken()
  return { by: 'accessor', accessor }
}

/** All refusals here have one text. */
function unknownToken(): MusterError {
  return new MusterError('unauthenticated', 'the token is unknown, was revoked or is over')
}
