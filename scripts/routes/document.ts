/** `docs/api.md`: every endpoint, made of what routes say of themselves. */
import { type TProperties, type TSchema } from 'typebox'
import { dialectHeader } from '../../src/api/dialect.ts'
import { errorStatus } from '../../src/api/errors.ts'
import { everywhere, queryOf, regional, tagOf } from '../../src/api/openapi.ts'
import { bodyKindOf } from '../../src/api/route-body.ts'
import type { DescribedRoute } from '../../src/api/route.ts'
import {
  blocking,
  consistency,
  filterable,
  framesKeyword,
  inNamespace,
  jsonType,
  locked,
  ofDatacenter,
  paged,
  prefixed,
} from '../../src/api/shape.ts'
import { formatted } from '../check/formatted.ts'

/** Longest first: the consistency of a read is part of a blocking query. */
const families: readonly (readonly [title: string, parameters: TProperties])[] = [
  ['Blocking queries', blocking],
  ['Consistency', consistency],
  ['Namespace', inNamespace],
  ['Pages', paged],
  ['Prefix', prefixed],
  ['Filter', filterable],
  ['Lock', locked],
  ['Datacenter', ofDatacenter],
  ['Region', regional],
  ['Indented JSON', everywhere],
]

const head = `# HTTP API

Every endpoint of \`/v1\`, written by \`npm run routes\` from the route table: what it takes, what it answers, and the
permission that it requires. \`GET /v1/openapi.json\` has the same as an OpenAPI 3.1 document.

- PUT and POST are one, except where both are listed. GET serves HEAD too.
- Members of a JSON body are read in any letter case, and \`null\` as absent. A parameter that is not named here is ignored.
- The token is in \`X-Service-Token\` or \`Authorization: Bearer\`. A permission is what a policy grants: see
  [access control](access-control.md). \`filtered\`: everyone may ask, and sees what the token may see.
- An error is one line of plain text with status 400 (the request is wrong), 403 (the token may not), 413 (too large), 429 or
  503 (try again later), 500, 501 or 504. Endpoints name the other ones that they answer.
- Where two products have the same path, \`${dialectHeader}: consul\` asks for Consul's shape: see [dialects](dialects.md).
- Reads reply with \`X-Service-Index\`, which the next blocking query takes as \`index\`.
`

/** As the formatter writes it. */
export async function apiDocument(
  routes: readonly DescribedRoute[],
  file: string,
): Promise<string> {
  const tags = [...new Set(routes.map(tagOf))].toSorted()
  const shapes = new Shapes()
  const sections = tags.map((tag) => {
    const own = routes.filter((route) => tagOf(route) === tag).toSorted(inOrder)
    return [`## ${tag}`, ...own.map((route) => endpoint(route, shapes))].join('\n\n')
  })
  const parts = [
    head,
    '## Query parameters that many endpoints share',
    ...families.map(([title, parameters]) => `${title}:\n\n${parameterTable({}, parameters)}`),
    ...sections,
    '## Shapes',
    shapes.text(),
  ]
  return formatted(file, parts.join('\n\n'))
}

function inOrder(left: DescribedRoute, right: DescribedRoute): number {
  const name = ({ path, dialect, method }: DescribedRoute) => `${path} ${dialect ?? ''} ${method}`
  return name(left) < name(right) ? -1 : 1
}

function endpoint(route: DescribedRoute, shapes: Shapes): string {
  const { method, path, dialect, summary, permission, params = {}, errors = [] } = route
  const query = queryOf(route)
  const also = families.filter(([, family]) => isPartOf(family, query))
  const shared = also.flatMap(([, family]) => Object.keys(family))
  const own = Object.fromEntries(Object.entries(query).filter(([name]) => !shared.includes(name)))
  const common = also.filter(([title]) => !always.includes(title)).map(([title]) => title)
  return [
    `### ${method} ${path}${dialect === undefined ? '' : ` (${dialect})`}`,
    `${summary}. Permission: \`${permission}\`.`,
    parameterTable(params, own),
    common.length === 0 ? '' : `Also takes: ${common.join(', ').toLowerCase()}.`,
    bodyText(route, shapes),
    replyText(route, shapes),
    errors.length === 0
      ? ''
      : `Errors: ${[...new Set(errors.map((code) => `${errorStatus(code)} \`${code}\``))].join(', ')}.`,
    exampleText(route),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

const always = ['Region', 'Indented JSON', 'Consistency']

function isPartOf(family: TProperties, query: TProperties): boolean {
  return Object.entries(family).every(([name, schema]) => query[name] === schema)
}

function parameterTable(params: TProperties, query: TProperties): string {
  const rows = [
    ...Object.entries(params).map(([name, schema]) => [`\`${name}\``, 'path', schema] as const),
    ...Object.entries(query).map(([name, schema]) => [`\`${name}\``, 'query', schema] as const),
  ]
  if (rows.length === 0) return ''
  const shapes = new Shapes()
  return table(
    ['parameter', 'in', 'type', 'meaning'],
    rows.map(([name, place, schema]) => [name, place, shapes.typeOf(schema), meaningOf(schema)]),
  )
}

function bodyText(route: DescribedRoute, shapes: Shapes): string {
  const kind = bodyKindOf(route)
  if (kind === 'none') return ''
  const { bodySchema } = route
  if (bodySchema === undefined) return kind === 'json' ? '' : 'Body: bytes.'
  const rows = shapes.rows(bodySchema)
  return rows.length === 0
    ? `Body: ${shapes.typeOf(bodySchema)}.`
    : `Body${meaningAfter(bodySchema)}:\n\n${table(['member', 'type', 'meaning'], rows)}`
}

function replyText({ reply }: DescribedRoute, shapes: Shapes): string {
  const replies = Object.entries(reply).flatMap(([status, content]) => {
    const kinds = Object.entries(content)
    if (kinds.length === 0) return [`- ${status}, without a body`]
    return kinds.map(([type, schema]) => {
      const shown = type === jsonType ? '' : ` \`${type}\``
      return `- ${status}${shown}: ${shapes.typeOf(schema)}${meaningAfter(schema)}`
    })
  })
  const tables = Object.values(reply).flatMap((content) => {
    const schema = content[jsonType]
    const rows = schema === undefined || titleOf(schema) !== null ? [] : shapes.rows(schema)
    return rows.length === 0 ? [] : [table(['member', 'type', 'meaning'], rows)]
  })
  return ['Reply:', replies.join('\n'), ...new Set(tables)].join('\n\n')
}

function exampleText(route: DescribedRoute): string {
  const { method, example, dialect } = route
  const url = (example.url ?? route.path).replaceAll(/\{(\w+)\}/g, '<$1>')
  const status = example.status ?? 200
  const { body } = example
  const headers = { ...(dialect !== undefined && { [dialectHeader]: dialect }), ...example.headers }
  const words = [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
    `'http://127.0.0.1:4646${url}'`,
  ]
  const unusual = status === 200 ? '' : `  # ${status}`
  return `\`\`\`sh\n${words.join(' ')}${unusual}\n\`\`\``
}

function quoted(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

type Schema = TSchema & {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: TProperties
  readonly required?: readonly string[]
  readonly patternProperties?: TProperties
  readonly [framesKeyword]?: TSchema
}

function titleOf(schema: Schema): string | null {
  return schema.title ?? null
}

function meaningOf({ description = '' }: Schema): string {
  return description
}

function meaningAfter(schema: Schema): string {
  const { description } = schema
  return description === undefined || titleOf(schema) !== null ? '' : ` (${description})`
}

/** Schemas with a title, each described once, at the end. */
class Shapes {
  readonly #named = new Map<string, Schema>()

  typeOf(schema: Schema): string {
    const title = titleOf(schema)
    if (title !== null) {
      this.#named.set(title, schema)
      return `[${title}](#${title.toLowerCase()})`
    }
    const frame = schema[framesKeyword]
    if (frame !== undefined) return `stream of ${this.typeOf(frame)}`
    if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
    if (schema.enum !== undefined) return schema.enum.map((one) => `\`${String(one)}\``).join(', ')
    if (schema.anyOf !== undefined) return schema.anyOf.map((one) => this.typeOf(one)).join(' or ')
    if (schema.items !== undefined) return `list of ${this.typeOf(schema.items)}`
    const value = Object.values(schema.patternProperties ?? {})[0]
    if (value !== undefined) return `map of ${this.typeOf(value)}`
    return schema.type ?? 'any'
  }

  /** Members of an object, and of objects in it: `Coord.Vec`, `Servers[].ID`. */
  rows(schema: Schema, path = ''): string[][] {
    const { properties } = schema
    if (properties === undefined) {
      return schema.items === undefined || titleOf(schema.items) !== null
        ? []
        : this.rows(schema.items, `${path}[].`)
    }
    return Object.entries(properties).flatMap(([name, member]: [string, Schema]) => {
      const own = `${path}${name}`
      const inner = titleOf(member) === null ? member : {}
      const optional = schema.required?.includes(name) === true ? '' : ', optional'
      return [
        [`\`${own}\``, `${this.typeOf(member)}${optional}`, meaningOf(member)],
        ...this.rows(inner, 'properties' in inner ? `${own}.` : own),
      ]
    })
  }

  text(): string {
    const written = new Map<string, string>()
    // Describing one may name others.
    for (let size = -1; size !== this.#named.size;) {
      size = this.#named.size
      for (const [title, schema] of this.#named) {
        written.set(title, `### ${title}\n\n${this.#shapeText(schema)}`)
      }
    }
    return [...written]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, text]) => text)
      .join('\n\n')
  }

  #shapeText(schema: Schema): string {
    return table(['member', 'type', 'meaning'], this.rows(schema))
  }
}

function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`
  return [line(names), line(names.map(() => '---')), ...rows.map(line)].join('\n')
}
