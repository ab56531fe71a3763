/**
 * What a route says of itself, as data: the shapes of its parameters, its body and its replies, from which the OpenAPI
 * document, `docs/api.md` and the checks of the tests are made. Serving a request reads none of it.
 *
 * This file has the types, and one constant for each family of parameters that many routes share.
 */
import { Type, type TProperties, type TSchema } from 'typebox'
import type { ErrorCode } from '../lib/errors.ts'

/** By content type. Empty: no body. */
export type ReplyContent = Readonly<Record<string, TSchema>>

/** By status. Errors that are plain text have none: see `RouteDescription.errors`. */
export type Replies = Readonly<Record<number, ReplyContent>>

export type RouteDescription = {
  /** One line, as a heading: `List namespaces`. */
  readonly summary: string
  /** Of the path, by name; `*` is what the last segment stands for, slashes included. Default: any text. */
  readonly params?: TProperties
  /** Optional but for those that are not `Type.Optional`. What is not named here is ignored. */
  readonly query?: TProperties
  /** What a JSON body holds. Names of members are read in any letter case, and null as absent. */
  readonly bodySchema?: TSchema
  readonly reply: Replies
  /** Those beside the errors of every route: `not_found`, `gone`, `conflict`. */
  readonly errors?: readonly ErrorCode[]
  /**
   * As a policy grants it (`operator:write`); `filtered`: everyone may ask, and sees what the token may see; `none`: no
   * token is needed; `any token`.
   */
  readonly permission: string
  readonly example: RouteExample
}

/** Of examples: a UUID that nothing has. */
export const exampleId = '00000000-0000-4000-8000-000000000000'

/**
 * A request as the documentation shows it. A test sends them all to one server: what changes something in the order of the
 * routes, then what reads, then what deletes.
 */
export type RouteExample = {
  /** With its query string. Default: the route's path. `{name}`: kept from the reply of an earlier example, here and in texts of the body. */
  readonly url?: string
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default 200. */
  readonly status?: number
  /** By the name that later examples use: a member of the reply's JSON, `auth.accessor` one of a member. */
  readonly keeps?: Readonly<Record<string, string>>
  /** Why the test does not send it. */
  readonly shownOnly?: string
}

export const jsonType = 'application/json'
export const textType = 'text/plain'

/** 200 with JSON. */
export function ok(schema: TSchema): Replies {
  return { 200: { [jsonType]: schema } }
}

/** 200 without a body. */
export const done: Replies = { 200: {} }

/** Keyword of a schema whose body is JSON values one after the other: their schema. */
export const framesKeyword = 'x-frames'

/** JSON values one after the other. */
export function frames(frame: TSchema, description: string): TSchema {
  return Type.Unsafe({ description, [framesKeyword]: frame })
}

export function text(description: string): TSchema & { type: 'string' } {
  return Type.String({ description })
}

export function flag(description: string) {
  return Type.Boolean({ description })
}

export function count(description: string) {
  return Type.Integer({ minimum: 0, description })
}

export function bytes(description: string) {
  return Type.Unsafe<Uint8Array>({ description })
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

export function mapOf<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Record(Type.String(), schema, description === undefined ? {} : { description })
}

export const Texts = mapOf(Type.String())

/** Parameters of a query, none of which has to be given. */
export function optionally(properties: TProperties): TProperties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
}

/** In replies: the entries of the log that made a record and that changed it last. */
export const indexes = {
  CreateIndex: count('Index of the log entry that made it'),
  ModifyIndex: count('Index of the log entry that changed it last'),
}

export const Nanoseconds = Type.Integer({ description: 'Nanoseconds since 1970' })
export const Time = Type.String({ description: 'RFC 3339', format: 'date-time' })
export const GoDuration = Type.String({ description: 'Duration such as `10s` or `1m30s`' })

/** Of reads of the replicated state. */
export const consistency: TProperties = optionally({
  stale: flag('Any server may answer from what it has applied'),
  consistent: flag('The leader asks a majority before it answers'),
  max_stale: text(
    'As `stale`, where the server heard from the leader so short a time ago (`10s`), else as without it',
  ),
})

export const blocking: TProperties = {
  ...optionally({
    index: count('Waits until the result has a greater index than this'),
    wait: text('Longest wait of such a query, as `30s`; 5 minutes unless said'),
  }),
  ...consistency,
}

export const inNamespace: TProperties = optionally({
  namespace: text('Namespace; `default` unless said'),
  ns: text('Another name of `namespace`'),
})

export const paged: TProperties = optionally({
  per_page: Type.Integer({ description: 'Rows of a page; without it the reply is the whole list' }),
  next_token: text('`X-Service-NextToken` of the page before'),
})

export const prefixed: TProperties = optionally({
  prefix: text('Only those that begin with this'),
})

export const filterable: TProperties = optionally({
  filter: text('Filter expression over the rows of the reply'),
})

/** What every list takes. */
export const listing: TProperties = { ...prefixed, ...filterable, ...paged }

/** Of lists that Nomad shows backwards on demand. */
export const forwardOnly: TProperties = optionally({
  reverse: flag('Must be `false`: rows come in the order of their ids'),
})

export const ofDatacenter: TProperties = optionally({
  dc: text('The datacenter of the server; any other is refused'),
})

/** Of writes that depend on a lock; headers say the same. */
export const locked: TProperties = optionally({
  lock: text('Key of the lock that this write depends on; also the header `X-Service-Lock`'),
  lock_index: count('LockIndex of that key; also the header `X-Service-Lock-Index`'),
})
