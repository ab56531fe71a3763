/**
 * Replies as clients of Vault read them: one envelope around data, a login's token or warnings; errors have their own
 * shape (`errors.ts`). And the schemas of the same for the descriptions of routes.
 */
import { Type, type TSchema } from 'typebox'
import { MusterError } from '../lib/errors.ts'
import type { Listed } from '../rpc/list.ts'
import type { ApiReply, ApiRequest } from './route.ts'
import { count, flag, jsonType, mapOf, nullable, text, type Replies } from './shape.ts'

/** What a login or a renewal answers. */
export type AuthAnswer = {
  readonly client_token: string
  readonly accessor: string
  readonly policies: readonly string[]
  readonly token_policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
  /** Seconds. */
  readonly lease_duration: number
  readonly renewable: boolean
  /** Empty: nobody in particular. */
  readonly entity_id: string
  readonly token_type: 'service' | 'batch'
  readonly orphan: boolean
  readonly num_uses: number
}

export type Enveloped = {
  readonly data?: unknown
  readonly auth?: AuthAnswer
  /** An empty list is none. */
  readonly warnings?: readonly string[]
  /** Members beside the envelope's own: Vault answers so for old clients. */
  readonly beside?: Readonly<Record<string, unknown>>
}

const uncached = { 'Cache-Control': 'no-store' }

/** 204 without data, token and warnings. */
export function envelope(
  { requestId }: Pick<ApiRequest, 'requestId'>,
  { data, auth, warnings = [], beside = {} }: Enveloped,
): ApiReply {
  if (data === undefined && auth === undefined && warnings.length === 0) {
    return { status: 204, headers: uncached }
  }
  const json = {
    ...beside,
    request_id: requestId,
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: data ?? null,
    wrap_info: null,
    warnings: warnings.length === 0 ? null : warnings,
    auth: auth ?? null,
  }
  return { json, headers: uncached }
}

/** JSON that is kept, so that neither it nor its length in bytes is made for each answer. */
export type KeptText = { readonly text: string; readonly bytes: number }

/** As `envelope` around data that is JSON already. */
export function envelopeOfText(
  { requestId }: Pick<ApiRequest, 'requestId'>,
  data: KeptText,
): ApiReply {
  return {
    // No character of a request's id needs an escape: `request-id.ts`.
    encoded: `${front}${requestId}${middle}${data.text}${back}`,
    encodedBytes: frameBytes + requestId.length + data.bytes,
    headers: uncached,
  }
}

const front = '{"request_id":"'
const middle = '","lease_id":"","renewable":false,"lease_duration":0,"data":'
const back = ',"wrap_info":null,"warnings":null,"auth":null}'
const frameBytes = front.length + middle.length + back.length

/** Names of a page in order; throws `nothingThere` for none. */
export function keysEnvelope(
  request: Pick<ApiRequest, 'requestId'>,
  { rows, nextToken }: Pick<Listed<string>, 'rows' | 'nextToken'>,
): ApiReply {
  if (rows.length === 0) throw nothingThere()
  const keys = rows.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
  return { ...envelope(request, { data: { keys } }), nextToken }
}

/** 404 with an empty list of errors. */
export function nothingThere(): MusterError {
  return new MusterError('not_found', '')
}

export const AuthShape = Type.Object(
  {
    client_token: text('The secret of the token: shown once'),
    accessor: text('Name of the token that is no secret; empty for a batch token'),
    policies: Type.Array(Type.String()),
    token_policies: Type.Array(Type.String()),
    metadata: nullable(mapOf(Type.String())),
    lease_duration: count('Seconds that the token is good for; 0: no end'),
    renewable: flag('Whether the token can be renewed'),
    entity_id: text('Who the token stands for; empty: nobody in particular'),
    token_type: Type.Enum(['service', 'batch']),
    orphan: flag('Whether no other token ends this one'),
    num_uses: count('Requests that the token is good for; 0: not limited'),
  },
  { title: 'Auth' },
)

function envelopeOf(data: TSchema, auth: TSchema, beside?: TSchema) {
  const members = {
    request_id: text('Id of this request, as in the audit log'),
    lease_id: text('Always empty'),
    renewable: flag('Always false: what is renewed is inside `auth`'),
    lease_duration: count('Always 0: the lease is inside `auth`'),
    data,
    wrap_info: Type.Null(),
    warnings: nullable(Type.Array(Type.String())),
    auth,
  }
  return Type.Object(members, beside === undefined ? {} : { additionalProperties: beside })
}

/** 200 with data. `beside`: of members beside the envelope's own. */
export function dataReply(data: TSchema, beside?: TSchema): Replies {
  return { 200: { [jsonType]: envelopeOf(data, Type.Null(), beside) } }
}

/** 200 with the names of a list. */
export const keysReply = dataReply(Type.Object({ keys: Type.Array(Type.String()) }))

/** 200 with a token. */
export const authReply: Replies = { 200: { [jsonType]: envelopeOf(Type.Null(), AuthShape) } }

/** 204, or 200 with warnings. */
export const writtenReply: Replies = {
  200: { [jsonType]: envelopeOf(Type.Null(), Type.Null()) },
  204: {},
}
