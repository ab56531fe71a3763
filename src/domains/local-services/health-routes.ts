/** `/v1/agent/service/*`, `/v1/agent/health/service/…` and maintenance, as Consul's clients request them. */
import { Type, type TSchema } from 'typebox'
import { waitOf } from '../../api/blocking.ts'
import { decodePath } from '../../api/request-path.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import {
  done,
  flag,
  jsonType,
  ok,
  optionally,
  text,
  textType,
  type Replies,
} from '../../api/shape.ts'
import { parseBoolean } from '../../lib/boolean.ts'
import { MusterError } from '../../lib/errors.ts'
import { scopedRoutes, tailOf } from '../catalog/scope-routes.ts'
import { worst, localHealthMethods, type HealthWord, type ServiceHealth } from './health-methods.ts'
import { localServiceMethods } from './methods.ts'
import { HashedAgentService, ServiceHealth as ServiceHealthShape } from './shapes.ts'

/** What load balancers go by. */
const statuses: Readonly<Record<HealthWord, number>> = {
  passing: 200,
  warning: 429,
  critical: 503,
  maintenance: 503,
}

const waitMsMax = 600_000

const route = scopedRoutes()
const withId = { '*': text('ID of the service, slashes included') }
/** Of routes below `/v1/agent/service` whose path is no id, by whatever method. */
const wordsBelow: readonly string[] = ['deregister', 'maintenance']
const maintenance = {
  enable: flag('Into it, or out of it'),
  ...optionally({ reason: text('For people') }),
}
const byHash = optionally({
  hash: text('`ContentHash` of an answer before: waits until the service is shown otherwise'),
  wait: text('How long it waits; 5m unless said, 10m at most'),
})
const asText = optionally({
  format: text('`text`: the status alone, as `Accept: text/plain` asks'),
})

/** The status says the health. */
function healthReplies(schema: TSchema): Replies {
  const content = { [jsonType]: schema, [textType]: text('The status alone') }
  return { 200: content, 429: content, 503: content, 404: content }
}

const setMaintenance = async (request: ApiRequest, serviceId: string): Promise<ApiReply> => {
  const reason = request.search.text('reason') ?? ''
  await request.call(localServiceMethods.maintain, { serviceId, isOn: enableOf(request), reason })
  return { status: 200 }
}

export const localHealthRoutes: readonly DescribedRoute[] = [
  route(
    'GET',
    '/v1/agent/service/*',
    {
      summary: 'Read a service of this agent',
      permission: 'service:read',
      params: withId,
      query: byHash,
      reply: ok(HashedAgentService),
      errors: ['not_found'],
      example: { url: '/v1/agent/service/cache' },
    },
    async (request) => {
      refuseOtherRoutes(request)
      const id = tailOf(request, 'service ID')
      const hash = request.search.text('hash') ?? ''
      const waitMs = waitOf(request.search, waitMsMax)
      if (hash !== '') {
        request.beginWaiting()
        await request.call(localHealthMethods.awaitService, { id, hash, waitMs })
      }
      // What the caller may see is looked at anew.
      const json = await request.call(localHealthMethods.service, { id })
      return { json, contentHash: json.ContentHash }
    },
  ),
  route(
    'GET',
    '/v1/agent/health/service/id/*',
    {
      summary: 'Health of a service of this agent, by its ID',
      permission: 'service:read',
      params: withId,
      query: asText,
      reply: healthReplies(ServiceHealthShape),
      errors: ['not_found'],
      example: { url: '/v1/agent/health/service/id/cache', status: 503 },
    },
    async (request) => {
      const id = tailOf(request, 'service ID')
      const health = await request.call(localHealthMethods.healthById, { id })
      if (health === null) return notFound(request, `ServiceId ${id} not found`, nobody)
      return healthReply(request, health.AggregatedStatus, health)
    },
  ),
  route(
    'GET',
    '/v1/agent/health/service/name/*',
    {
      summary: 'Health of the services of this agent that have a name',
      permission: 'service:read',
      params: { '*': text('Name of the services, slashes included') },
      query: asText,
      reply: healthReplies(Type.Array(ServiceHealthShape)),
      errors: ['not_found'],
      example: { url: '/v1/agent/health/service/name/cache?format=text', status: 503 },
    },
    async (request) => {
      const name = tailOf(request, 'service name')
      const all = await request.call(localHealthMethods.healthByName, { name })
      if (all.length === 0) return notFound(request, `ServiceName ${name} Not Found`, [])
      return healthReply(request, worst(all.map((one) => one.AggregatedStatus)), all)
    },
  ),
  {
    ...route(
      'PUT',
      '/v1/agent/maintenance',
      {
        summary: 'Put the node of this agent into maintenance, or take it out',
        permission: 'node:write',
        query: maintenance,
        reply: done,
        example: { url: '/v1/agent/maintenance?enable=true&reason=upgrade' },
      },
      (request) => setMaintenance(request, ''),
    ),
    body: 'none',
  },
  {
    ...route(
      'PUT',
      '/v1/agent/service/maintenance/*',
      {
        summary: 'Put a service of this agent into maintenance, or take it out',
        permission: 'service:write',
        params: withId,
        query: maintenance,
        reply: done,
        errors: ['not_found'],
        example: { url: '/v1/agent/service/maintenance/cache?enable=false' },
      },
      (request) => setMaintenance(request, tailOf(request, 'service ID')),
    ),
    body: 'none',
  },
]

/** Throws `method_not_allowed` for a path of another route. An id that begins so is read with its slash as `%2F`. */
function refuseOtherRoutes({ path }: ApiRequest): void {
  const [word = '', ...more] = path.split('/').slice(4)
  if (more.length > 0 && wordsBelow.includes(decodePath(word))) {
    throw new MusterError('method_not_allowed', 'Invalid method')
  }
}

/** How clients find a service that is not there in the shape of one that is. */
const nobody = { AggregatedStatus: 'critical', Service: null, Checks: null } as const

function healthReply(
  request: ApiRequest,
  word: HealthWord,
  json: ServiceHealth | readonly ServiceHealth[],
): ApiReply {
  const status = statuses[word]
  return wantsText(request) ? { status, text: word } : { status, json }
}

function notFound(request: ApiRequest, text: string, json: unknown): ApiReply {
  return wantsText(request) ? { status: 404, text } : { status: 404, json }
}

function wantsText(request: ApiRequest): boolean {
  if (request.header('accept')?.startsWith('text/plain') === true) return true
  return request.search.text('format') === 'text'
}

function enableOf(request: ApiRequest): boolean {
  const text = request.search.text('enable') ?? ''
  if (text === '') throw new MusterError('invalid_argument', 'Missing value for enable')
  const value = parseBoolean(text)
  if (value !== undefined) return value
  throw new MusterError('invalid_argument', 'Invalid value for enable: it is true or false')
}
