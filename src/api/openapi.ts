/**
 * The OpenAPI 3.1 document of the routes, made of what each says of itself. What OpenAPI has no place for stands in members
 * that begin with `x-`: a second shape of the same path and method in Consul's dialect, and methods such as LIST.
 */
import { Type, type TProperties, type TSchema } from 'typebox'
import { assert } from '../lib/assert.ts'
import { errorCodes } from '../lib/errors.ts'
import { dialectHeader } from './dialect.ts'
import { errorStatus, hasJsonErrors } from './errors.ts'
import { bodyKindOf } from './route-body.ts'
import type { DescribedRoute } from './route.ts'
import { flag, jsonType, text, textType, type ReplyContent } from './shape.ts'

export type Json = { readonly [name: string]: unknown }

const methodsOfOpenApi = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE']

/** Of every route. */
export const everywhere: TProperties = { pretty: Type.Optional(flag('Indents the JSON')) }

/** Of every route that does not answer for its process alone. */
export const regional: TProperties = {
  region: Type.Optional(text('The region of the server; any other is refused')),
}

/** The parameters of the query that a route takes, those of all routes among them. */
export function queryOf({ query, anyRegion }: DescribedRoute): TProperties {
  return { ...query, ...(anyRegion === true ? {} : regional), ...everywhere }
}

/** `/v1/kv/{path}` of `/v1/kv/*`. */
export function templateOf(path: string): string {
  return path.replace(/\*$/, '{path}').replaceAll(/:([\w-]+)/g, '{$1}')
}

/** By the second segment of their path: `/v1/acl/…`. */
export function tagOf({ path }: DescribedRoute): string {
  return path.split('/')[2] ?? ''
}

/** Makes the text of the document when it is first asked for. */
export function describesApi(
  routes: () => Promise<readonly DescribedRoute[]>,
): () => Promise<string> {
  let made: Promise<string> | null = null
  return () => (made ??= routes().then((all) => JSON.stringify(openApiOf(all))))
}

export function openApiOf(routes: readonly DescribedRoute[]): Json {
  const components = new Components()
  const paths = new Map<string, Record<string, unknown>>()
  // Those of a dialect last, so that the common shape has the path.
  const ordered = routes.toSorted(
    (left, right) => Number(left.dialect !== undefined) - Number(right.dialect !== undefined),
  )
  for (const route of ordered) {
    const known = [...paths.keys()].find((path) => samePath(path, templateOf(route.path)))
    const template = known ?? templateOf(route.path)
    const item = paths.get(template) ?? {}
    paths.set(template, item)
    addOperation(item, route, operationOf(route, components))
  }
  const sorted = [...paths].toSorted(([left], [right]) => (left < right ? -1 : 1))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version: '1',
      description: [
        'PUT and POST are one, except where both are listed, and GET serves HEAD too.',
        'Query parameters that an operation does not name are ignored.',
        'Members of a JSON body are read in any letter case, and null as absent.',
        `The header ${dialectHeader} chooses between shapes where two products have the same path.`,
      ].join(' '),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{}, { token: [] }, { bearer: [] }],
    tags: [...new Set(routes.map(tagOf))].toSorted().map((name) => ({ name })),
    paths: Object.fromEntries(sorted),
    components: {
      schemas: components.schemas(),
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'X-Service-Token' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      headers: {
        Index: {
          description: 'Index of the result, for the next blocking query',
          schema: { type: 'integer' },
        },
        NextToken: { description: '`next_token` of the next page', schema: { type: 'string' } },
      },
    },
  }
}

/** Templates that differ in the names of their parameters alone are one path. */
function samePath(left: string, right: string): boolean {
  const plain = (path: string) => path.replaceAll(/\{[^}]*\}/g, '{}')
  return plain(left) === plain(right)
}

function addOperation(item: Record<string, unknown>, route: DescribedRoute, operation: Json): void {
  const method = route.method.toLowerCase()
  if (!methodsOfOpenApi.includes(route.method)) item[`x-${method}`] = operation
  else if (!(method in item)) item[method] = operation
  else {
    assert(route.dialect !== undefined, `two routes of ${route.method} ${route.path}`)
    item[`x-${route.dialect}`] = { ...(item[`x-${route.dialect}`] as Json), [method]: operation }
  }
}

function operationOf(route: DescribedRoute, components: Components): Json {
  const { summary, permission, dialect } = route
  const body = bodyOf(route, components)
  return {
    summary,
    description: `Permission: ${permission}.`,
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    ...(permission === 'none' && { security: [{}] }),
    'x-permission': permission,
    ...(dialect !== undefined && { 'x-dialect': dialect }),
    parameters: parametersOf(route, components),
    ...(body !== null && { requestBody: body }),
    responses: responsesOf(route, components),
  }
}

function operationIdOf({ method, path, dialect }: DescribedRoute): string {
  const words = templateOf(path).replace('/v1/', '').match(/\w+/g) ?? []
  return [dialect, method.toLowerCase(), ...words].filter((word) => word !== undefined).join('_')
}

function parametersOf(route: DescribedRoute, components: Components): readonly Json[] {
  const { path, params = {}, dialect } = route
  const names = path.match(/(?<=\/:)[\w-]+|\*$/g) ?? []
  const inPath = names.map((name) => ({
    ...parameterOf(name === '*' ? 'path' : name, 'path', params[name] ?? Type.String(), components),
    required: true,
  }))
  const inQuery = Object.entries(queryOf(route)).map(([name, schema]) => ({
    ...parameterOf(name, 'query', schema, components),
    required: !Type.IsOptional(schema),
  }))
  const chosen = {
    name: dialectHeader,
    in: 'header',
    required: true,
    schema: { enum: [dialect] },
  }
  return [...inPath, ...inQuery, ...(dialect === undefined ? [] : [chosen])]
}

function parameterOf(name: string, place: string, schema: TSchema, components: Components): Json {
  const { description, ...rest } = components.plain(schema)
  return { name, in: place, ...(description !== undefined && { description }), schema: rest }
}

function bodyOf(route: DescribedRoute, components: Components): Json | null {
  const { bodySchema } = route
  if (bodySchema !== undefined && bodyKindOf(route) !== 'none') {
    return { content: { [jsonType]: { schema: components.plain(bodySchema) } } }
  }
  const kind = bodyKindOf(route)
  return kind === 'bytes' || kind === 'stream'
    ? { content: { 'application/octet-stream': {} } }
    : null
}

function responsesOf(route: DescribedRoute, components: Components): Json {
  const { reply, errors = [], query = {}, path } = route
  const headers = {
    ...('index' in query && { 'X-Service-Index': { $ref: '#/components/headers/Index' } }),
    ...('per_page' in query && {
      'X-Service-NextToken': { $ref: '#/components/headers/NextToken' },
    }),
  }
  const replies = Object.entries(reply).map(([status, content]) => [
    status,
    {
      description: Number(status) < 400 ? 'Done' : 'A condition does not hold',
      ...(Object.keys(headers).length > 0 && { headers }),
      ...contentOf(content, components),
    },
  ])
  const refused = (description: string) => ({
    description,
    content: hasJsonErrors(path)
      ? { [jsonType]: { schema: components.plain(Errors) } }
      : { [textType]: { schema: { type: 'string' } } },
  })
  const named = errors
    .filter((code) => !(errorStatus(code) in reply))
    .map((code) => [errorStatus(code), refused(errorCodes[code])])
  return Object.fromEntries([
    ...replies,
    ...named,
    ['default', refused('An error, in one line that says what is wrong')],
  ]) as Json
}

const Errors = Type.Object({ errors: Type.Array(Type.String()) }, { title: 'Errors' })

function contentOf(content: ReplyContent, components: Components): Json {
  if (Object.keys(content).length === 0) return {}
  const entries = Object.entries(content).map(([type, schema]) => [
    type,
    { schema: components.plain(schema) },
  ])
  return { content: Object.fromEntries(entries) as Json }
}

/** Schemas that have a title, each written once. */
class Components {
  readonly #schemas = new Map<string, string>()

  schemas(): Json {
    const sorted = [...this.#schemas].toSorted(([left], [right]) => (left < right ? -1 : 1))
    return Object.fromEntries(sorted.map(([name, body]) => [name, JSON.parse(body) as unknown]))
  }

  /** As plain JSON, with references in place of what has a title. */
  plain(schema: TSchema): Json {
    return this.#object(JSON.parse(JSON.stringify(schema)) as Json)
  }

  #object(schema: Json): Json {
    const inner = Object.fromEntries(
      Object.entries(schema).map(([name, value]) => [name, this.#value(value)]),
    )
    const { title, patternProperties, ...rest } = inner
    const pattern = patternProperties as Json | undefined
    const made = { ...rest, ...(pattern && { additionalProperties: Object.values(pattern)[0] }) }
    if (typeof title !== 'string') return made
    const body = JSON.stringify(made)
    const known = this.#schemas.get(title) ?? body
    assert(known === body, `two schemas have the title ${title}`)
    this.#schemas.set(title, body)
    return { $ref: `#/components/schemas/${title}` }
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item))
    return typeof value === 'object' && value !== null ? this.#object(value as Json) : value
  }
}
