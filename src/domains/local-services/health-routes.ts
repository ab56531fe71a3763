/** `/v1/agent/service/:id`, `/v1/agent/health/service/…` and maintenance, as clients of the peer ask for them. */
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import { worst, localHealthMethods, type HealthWord, type ServiceHealth } from './health-methods.ts'
import { localServiceMethods } from './methods.ts'
import { named, scopedRoutes } from '../catalog/scope-routes.ts'

/** What load balancers go by. */
const statuses: Readonly<Record<HealthWord, number>> = {
  passing: 200,
  warning: 429,
  critical: 503,
  maintenance: 503,
}
const trueWords: readonly string[] = ['1', 't', 'T', 'true', 'TRUE', 'True']
const falseWords: readonly string[] = ['0', 'f', 'F', 'false', 'FALSE', 'False']

const route = scopedRoutes()
const setMaintenance = async (request: ApiRequest, serviceId: string): Promise<ApiReply> => {
  const reason = request.search.text('reason') ?? ''
  await request.call(localServiceMethods.maintain, { serviceId, isOn: enableOf(request), reason })
  return { status: 200 }
}

export const localHealthRoutes: readonly Route[] = [
  route('GET', '/v1/agent/service/:id', async (request) => ({
    json: await request.call(localHealthMethods.service, {
      id: named(request, 'id', 'service ID'),
    }),
  })),
  route('GET', '/v1/agent/health/service/id/:id', async (request) => {
    const id = named(request, 'id', 'service ID')
    const health = await request.call(localHealthMethods.healthById, { id })
    if (health === null) return notFound(request, `ServiceId ${id} not found`, nobody)
    return healthReply(request, health.AggregatedStatus, health)
  }),
  route('GET', '/v1/agent/health/service/name/:name', async (request) => {
    const name = named(request, 'name', 'service name')
    const all = await request.call(localHealthMethods.healthByName, { name })
    if (all.length === 0) return notFound(request, `ServiceName ${name} Not Found`, [])
    return healthReply(request, worst(all.map((one) => one.AggregatedStatus)), all)
  }),
  {
    ...route('PUT', '/v1/agent/maintenance', (request) => setMaintenance(request, '')),
    body: 'none',
  },
  {
    ...route('PUT', '/v1/agent/service/maintenance/:id', (request) =>
      setMaintenance(request, named(request, 'id', 'service ID')),
    ),
    body: 'none',
  },
]

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
  if (trueWords.includes(text)) return true
  if (falseWords.includes(text)) return false
  throw new MusterError('invalid_argument', 'Invalid value for enable: it is true or false')
}
