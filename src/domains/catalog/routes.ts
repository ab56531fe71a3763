/** `/v1/catalog` and `/v1/health`. */
import { listHeaders, listReply, pageOf } from '../../api/pages.ts'
import type { ApiRequest, Route } from '../../api/route.ts'
import { site } from '../../api/site.ts'
import { agentAdmissionMethods } from './agent-admission.ts'
import { healthMethods } from './health-methods.ts'
import { catalogMethods } from './methods.ts'
import { catalogDeregister, catalogRegister } from './register-methods.ts'
import { agentNodeOf, deregistrationOf, registrationOf } from './registration-routes.ts'
import { filterOf, listed, named, nodeMeta, scopedRoutes } from './scope-routes.ts'

/** Longest wait of a blocking query, as Consul caps it. */
const waitMsMax = 600_000

const route = scopedRoutes({ waitMsMax })

export const catalogRoutes: readonly Route[] = [
  route('PUT', '/v1/catalog/register', async (request) => {
    await request.call(catalogRegister, registrationOf(request, request.service(site).datacenter))
    return { json: true }
  }),
  route('PUT', '/v1/catalog/deregister', async (request) => {
    await request.call(
      catalogDeregister,
      deregistrationOf(request, request.service(site).datacenter),
    )
    return { json: true }
  }),
  // By client agents.
  route('PUT', '/v1/catalog/agent', async (request) => {
    await request.call(agentAdmissionMethods.registerAgent, { node: agentNodeOf(request) })
    return { json: true }
  }),
  route('GET', '/v1/catalog/datacenters', (request) => ({
    json: [request.service(site).datacenter],
  })),
  route('GET', '/v1/catalog/nodes', async (request) => {
    const args = { ...pageOf(request), meta: nodeMeta(request) }
    return listReply((await request.query(catalogMethods.nodes, args)).value)
  }),
  route('GET', '/v1/catalog/services', async (request) => {
    const args = { ...pageOf(request), meta: nodeMeta(request) }
    const { value } = await request.query(catalogMethods.services, args)
    const json = Object.fromEntries(value.rows.map(({ name, tags }) => [name, tags]))
    return { json, ...listHeaders(value) }
  }),
  route('GET', '/v1/catalog/service/:service', async (request) => {
    return listReply((await request.query(catalogMethods.service, instancesOf(request))).value)
  }),
  route('GET', '/v1/catalog/node/:node', async (request) => {
    const args = { node: named(request, 'node', 'node name'), filter: filterOf(request) }
    return listed((await request.query(catalogMethods.node, args)).value)
  }),
  route('GET', '/v1/health/node/:node', async (request) => {
    const args = { ...pageOf(request), node: named(request, 'node', 'node name') }
    return listReply((await request.query(healthMethods.ofNode, args)).value)
  }),
  route('GET', '/v1/health/checks/:service', async (request) => {
    const args = {
      service: named(request, 'service', 'service name'),
      meta: nodeMeta(request),
      ...pageOf(request),
    }
    return listReply((await request.query(healthMethods.ofService, args)).value)
  }),
  route('GET', '/v1/health/state/:state', async (request) => {
    const args = {
      state: named(request, 'state', 'check state'),
      meta: nodeMeta(request),
      ...pageOf(request),
    }
    return listReply((await request.query(healthMethods.inState, args)).value)
  }),
  route('GET', '/v1/health/service/:service', async (request) => {
    const args = {
      ...instancesOf(request),
      passing: request.search.flag('passing'),
    }
    return listReply((await request.query(healthMethods.service, args)).value)
  }),
]

/** Which instances of a service are asked for. */
function instancesOf(request: ApiRequest) {
  return {
    service: named(request, 'service', 'service name'),
    tags: request.search.all('tag').filter((tag) => tag !== ''),
    meta: nodeMeta(request),
    ...pageOf(request),
  }
}
