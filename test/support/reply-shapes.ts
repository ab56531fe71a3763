/**
 * Every reply in a test is what its route says it is: the test clients ask here, so no test has to. Members that the
 * schema does not name are faults too, although clients must expect more of them.
 */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { dialectOf } from '../../src/api/dialect.ts'
import { errorStatus } from '../../src/api/errors.ts'
import type { RequestHeaders } from '../../src/api/headers.ts'
import type { Route } from '../../src/api/route.ts'
import { methodsServed } from '../../src/api/route-table.ts'
import { jsonType, framesKeyword, type ReplyContent } from '../../src/api/shape.ts'

export type CheckedReply = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export type CheckedRequest = {
  readonly method: string
  /** With its query string. */
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
}

type Known = { readonly route: Route; readonly pattern: RegExp; readonly literal: number }

/** Errors that only some routes answer, which name them. */
const namedStatuses: ReadonlySet<number> = new Set([404, 409, 410])
const shownLength = 500

/** For all of a process: many tests start many servers, of the same routes. */
const compiled = new WeakMap<TSchema, ReturnType<typeof Compile>>()

export class ReplyShapes {
  /** By the second segment of their path. */
  readonly #routes: ReadonlyMap<string, readonly Known[]>

  constructor(routes: readonly Route[]) {
    const known = routes
      .map((route) => ({ route, pattern: patternOf(route.path), literal: literalOf(route.path) }))
      .toSorted((left, right) => right.literal - left.literal)
    this.#routes = Map.groupBy(known, ({ route }) => areaOf(route.path))
  }

  /** Throws for a reply that its route does not describe. */
  check(request: CheckedRequest, reply: CheckedReply): void {
    const fault = this.faultOf(request, reply)
    if (fault !== null) throw fault
  }

  /** Null: the reply is as its route describes it, or no route has the path. */
  faultOf(request: CheckedRequest, reply: CheckedReply): Error | null {
    const route = this.#routeOf(request)
    const fault = route === undefined ? null : this.#faultOf(route, request, reply)
    if (route === undefined || fault === null) return null
    // Tests that try again until they succeed would hide it otherwise.
    process.exitCode = 1
    const body = reply.body.slice(0, shownLength)
    const text = `${request.method} ${request.url} is not answered as ${route.method} ${route.path} says: ${fault}`
    return new Error(`${text}\nstatus ${reply.status}: ${body}`)
  }

  #routeOf({ method, url, headers }: CheckedRequest): Route | undefined {
    const [path = ''] = url.split(/[?#]/)
    const dialect = dialectOf(headers as RequestHeaders)
    const asList = method === 'GET' && /[?&]list=true(&|$)/.test(url)
    const list = asList ? this.#routeOf({ method: 'LIST', url: path, headers }) : undefined
    if (list !== undefined) return list
    const fitting = (this.#routes.get(areaOf(path)) ?? []).filter(
      ({ route, pattern }) =>
        (route.dialect ?? dialect) === dialect &&
        methodsServed(route).includes(method) &&
        pattern.test(path),
    )
    // The router goes by the path first, and then by the dialect.
    const best = fitting.filter(({ literal }) => literal === fitting[0]?.literal)
    return (best.find(({ route }) => route.dialect === dialect) ?? best[0])?.route
  }

  #faultOf(
    { reply: replies, errors = [] }: Route,
    { method }: CheckedRequest,
    { status, headers, body }: CheckedReply,
  ): string | null {
    if (replies === undefined || method === 'HEAD' || status === 101) return null
    const content = replies[status]
    const isError = status >= 400
    if (isError && isErrorBody(headers, body)) {
      if (!namedStatuses.has(status) || content !== undefined) return null
      if (errors.some((code) => errorStatus(code) === status)) return null
      return `no error with status ${status}`
    }
    if (content === undefined) return isError ? null : `no status ${status}`
    return this.#contentFault(content, typeOf(headers), body)
  }

  #contentFault(content: ReplyContent, type: string, body: string): string | null {
    if (Object.keys(content).length === 0) return body === '' ? null : 'there is a body'
    const [kind = ''] = type.split(';')
    const schema = content[kind]
    if (schema === undefined) return `no content type ${type}`
    if (kind !== jsonType) return null
    const frame = (schema as { readonly [framesKeyword]?: TSchema })[framesKeyword]
    if (frame === undefined) return this.#valueFault(schema, JSON.parse(body))
    // Frames of the log follow one another without a line's end.
    for (const line of body.split(/\n|(?<=\})(?=\{)/).filter((text) => text !== '')) {
      const fault = this.#valueFault(frame, JSON.parse(line))
      if (fault !== null) return fault
    }
    return null
  }

  #valueFault(schema: TSchema, value: unknown): string | null {
    let validator = compiled.get(schema)
    if (validator === undefined) {
      validator = Compile(closed(schema) as TSchema)
      compiled.set(schema, validator)
    }
    if (validator.Check(value)) return null
    const [, faults] = validator.Errors(value)
    return faults
      .slice(0, 3)
      .map(({ instancePath, message }) => `${instancePath || 'the body'} ${message}`)
      .join('; ')
  }
}

/** The same schema, whose records have no other members. */
export function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'properties' ? membersClosed(value as object) : closed(value),
    ]),
  )
  return 'properties' in inner && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner
}

function membersClosed(members: object): object {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, closed(value)]))
}

function typeOf(headers: CheckedReply['headers']): string {
  const type = headers['content-type']
  return typeof type === 'string' ? type : ''
}

function isErrorBody(headers: CheckedReply['headers'], body: string): boolean {
  const type = typeOf(headers)
  return (
    type === '' || type.startsWith('text/plain') || body === '' || body.startsWith('{"errors":')
  )
}

function areaOf(path: string): string {
  return path.split('/')[2] ?? ''
}

function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]*' : escaped(part)))
    .join('/')
  return new RegExp(`^${source}$`, 's')
}

function literalOf(path: string): number {
  return path.split('/').filter((part) => part !== '*' && !part.startsWith(':')).length
}

function escaped(text: string): string {
  return text.replaceAll(/[^\w-]/g, '\\$&')
}
