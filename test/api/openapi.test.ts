/** `/v1/openapi.json`: a valid document, which names every route and is made of what each says of itself. */
import t from 'tap'
import { openApiOf } from '../../src/api/openapi.ts'
import { serverDomains } from '../../src/domains/registry.ts'
import { serverOfOne } from '../domains/server-of-one.ts'

type Result = { readonly valid: boolean; readonly errors?: unknown }
type Validating = {
  readonly Validator: new () => { validate(document: unknown): Promise<Result> }
}

t.test('a server gives a valid document to a client without a token', async (t) => {
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true } })
  const answer = await server.ask('GET', '/v1/openapi.json')
  t.equal(answer.status, 200)
  const document = answer.json()
  t.match(document, { openapi: '3.1.0', info: { title: 'Muster' } })
  const name = import.meta.resolve('@seriousme/openapi-schema-validator')
  const { Validator } = (await import(name)) as Validating
  const { valid, errors } = await new Validator().validate(document)
  t.ok(valid, JSON.stringify(errors))
})

t.test('every route is in it, and every reference leads somewhere', async (t) => {
  const routes = serverDomains.flatMap(({ routes = [] }) => routes)
  const document = openApiOf(routes)
  const operations = operationsIn(document['paths'])
  t.equal(operations.length, routes.length)
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids).size, ids.length, 'ids are unique')
  const text = JSON.stringify(document)
  for (const [, section = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
    const components = document['components'] as Record<string, Record<string, unknown>>
    t.ok(components[section]?.[name], `${section} ${name}`)
  }
})

t.test('parameters, bodies and replies are those of the route', async (t) => {
  const document = openApiOf(serverDomains.flatMap(({ routes = [] }) => routes))
  const paths = document['paths'] as Record<string, Record<string, unknown>>
  t.match(paths['/v1/var/{path}']?.['put'], {
    summary: 'Write a variable',
    'x-permission': 'variables:write',
    parameters: [
      { name: 'path', in: 'path', required: true },
      { name: 'namespace', in: 'query', required: false },
    ],
    requestBody: { content: { 'application/json': {} } },
    responses: {
      200: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Variable' } } },
      },
      409: { content: { 'application/json': {} } },
    },
  })
  // Where two products have the same path, the second shape stands beside the first.
  t.match(paths['/v1/acl/policy/{name}'], {
    get: { summary: 'Read a policy' },
    'x-consul': { get: { 'x-dialect': 'consul' } },
  })
})

type Operation = { readonly operationId: string }

function operationsIn(value: unknown): readonly Operation[] {
  if (typeof value !== 'object' || value === null) return []
  return 'operationId' in value
    ? [value as Operation]
    : Object.values(value).flatMap((inner) => operationsIn(inner))
}
