/** `/v1/sys/capabilities`, `-accessor` and `-self`: what a token may do at paths, in Vault's words. */
import { Type, type TSchema } from 'typebox'
import { CoercedFields } from '../../api/coerced-fields.ts'
import { dataReply, envelope } from '../../api/envelope.ts'
import {
  smallBodyBytesMax,
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
} from '../../api/route.ts'
import { consistency, mapOf, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { hashOf } from './authorizer.ts'
import { isBatchSecret } from './batch-tokens.ts'
import {
  capabilityMethods,
  capabilityPathsMax,
  type PathCapabilities,
  type Whose,
} from './capability-methods.ts'
import { accessorLengthMax } from './model.ts'

const Capabilities = Type.Array(Type.String())
const Paths = Type.Union([Type.Array(Type.String()), Type.String()])
const pathMembers = {
  paths: Type.Optional(Paths),
  path: Type.Optional(Type.Unsafe({ ...Paths, description: 'The older name of `paths`' })),
}

export const capabilityRoutes: readonly DescribedRoute[] = [
  {
    ...capabilityRoute('capabilities-self', {}),
    summary: 'What the caller may do at paths',
    permission: 'any token',
    example: { body: { paths: ['auth/ldap/config', 'auth/token/create'] } },
    handle: async (request) => {
      const paths = pathsOf(new CoercedFields(request.json))
      const { value } = await request.query(capabilityMethods.own, { paths })
      return answered(request, value)
    },
  },
  {
    ...capabilityRoute('capabilities', { token: text('The secret of the token') }),
    summary: 'What a token may do at paths',
    permission: 'auth:write',
    example: {
      body: { token: '{client_token}', paths: ['auth/token/create'] },
      shownOnly: 'the token was revoked by an example before',
    },
    handle: async (request) => {
      const fields = new CoercedFields(request.json)
      const secret = given(fields, 'token')
      const whose = {
        by: 'token',
        hash: hashOf(secret),
        batch: isBatchSecret(secret) ? secret : null,
      } as const
      return ofToken(request, fields, whose)
    },
  },
  {
    ...capabilityRoute('capabilities-accessor', { accessor: text('The accessor of the token') }),
    summary: 'What the token with an accessor may do at paths',
    permission: 'auth:write',
    example: {
      body: { accessor: '{issued_accessor}', paths: ['auth/token/create'] },
      shownOnly: 'the token was revoked by an example before',
    },
    handle: async (request) => {
      const fields = new CoercedFields(request.json)
      const accessor = given(fields, 'accessor')
      if (accessor.length > accessorLengthMax) {
        throw new MusterError('invalid_argument', 'invalid accessor')
      }
      return ofToken(request, fields, { by: 'accessor', accessor })
    },
  },
]

function capabilityRoute(name: string, whose: Readonly<Record<string, TSchema>>) {
  return {
    method: 'POST',
    path: `/v1/sys/${name}`,
    query: consistency,
    bodySchema: Type.Object({ ...whose, ...pathMembers }),
    bodyBytesMax: smallBodyBytesMax,
    reply: dataReply(mapOf(Capabilities), Capabilities),
  } as const
}

async function ofToken(
  request: ApiRequest,
  fields: CoercedFields,
  whose: Whose,
): Promise<ApiReply> {
  const paths = pathsOf(fields)
  const nowMs = request.clock.wallMs()
  const { value } = await request.query(capabilityMethods.ofToken, { whose, paths, nowMs })
  return answered(request, value)
}

function given(fields: CoercedFields, name: 'token' | 'accessor'): string {
  const value = fields.string(name) ?? ''
  if (value === '') throw new MusterError('invalid_argument', `missing ${name}`)
  return value
}

function pathsOf(fields: CoercedFields): readonly string[] {
  const paths = [fields.list('paths') ?? [], fields.list('path') ?? []].find(
    ({ length }) => length > 0,
  )
  if (paths === undefined) throw new MusterError('invalid_argument', 'paths must be supplied')
  if (paths.length > capabilityPathsMax) {
    throw new MusterError('invalid_argument', `at most ${capabilityPathsMax} paths may be named`)
  }
  if (paths.includes('')) throw new MusterError('invalid_argument', 'missing path')
  return paths
}

/** A member for each path; of a single one also by the name that clients knew first. */
function answered(request: ApiRequest, value: PathCapabilities): ApiReply {
  const [first] = value
  const single = value.length === 1 && first !== undefined ? { capabilities: first[1] } : {}
  const data = { ...Object.fromEntries(value), ...single }
  return envelope(request, { data, beside: data })
}
