/** `/v1/catalog` and `/v1/health`. */
import type { ApiRequest, Route } from '../../api/route.ts'
import type { AgentAdmissionMethods } from './agent-admission.ts'
import type { HealthMethods } from './health-methods.ts'
import type { CatalogMethods } from './methods.ts'
import { catalogDeregister, catalogRegister } from './register-methods.ts'
import { agentNodeOf, deregistrationOf, registrationOf } from './registration-routes.ts'
import { filterOf, listed, named, nodeMeta, scopedRoutes } from './scope-routes.ts'

/** Longest wait of a blocking query, as the peer caps it. */
const waitMsMax = 600_000

export type CatalogRouteMethods = {
  readonly catalog: CatalogMethods
  readonly health: HealthMethods
  readonly admission: AgentAdmissionMethods
}

export function catalogRoutes(
  { catalog, health, admission }: CatalogRouteMethods,
  datacenter: string,
): readonly Route[] {
  const route = scopedRoutes(datacenter, { waitMsMax })

  return [
    route('PUT', '/v1/catalog/register', async (request) => {
      await request.call(catalogRegister, registrationOf(request, datacenter))
      return { json: true }
    }),
    route('PUT', '/v1/catalog/deregister', async (request) => {
      await request.call(catalogDeregister, deregistrationOf(request, datacenter))
      return { json: true }
    }),
    // By client agents.
    route('PUT', '/v1/catalog/agent', async (request) => {
      await request.call(admission.registerAgent, { node: agentNodeOf(request) })
      return { json: true }
    }),
    route('GET', '/v1/catalog/datacenters', () => ({ json: [datacenter] })),
    route('GET', '/v1/catalog/nodes', async (request) => {
      const args = { meta: nodeMeta(request), filter: filterOf(request) }
      return listed((await request.query(catalog.nodes, args)).value)
    }),
    route('GET', '/v1/catalog/services', async (request) => {
      const args = { meta: nodeMeta(request), filter: filterOf(request) }
      return listed((await request.query(catalog.services, args)).value)
    }),
    route('GET', '/v1/catalog/service/:service', async (request) => {
      const args = {
        service: named(request, 'service', 'service name'),
        tags: tagsOf(request),
        meta: nodeMeta(request),
        filter: filterOf(request),
      }
      return listed((await request.query(catalog.service, args)).value)
    }),
    route('GET', '/v1/catalog/node/:node', async (request) => {
      const args = { node: named(request, 'node', 'node name'), filter: filterOf(request) }
      return listed((await request.query(catalog.node, args)).value)
    }),
    route('GET', '/v1/health/node/:node', async (request) => {
      const args = { node: named(request, 'node', 'node name'), filter: filterOf(request) }
      return listed((await request.query(health.ofNode, args)).value)
    }),
    route('GET', '/v1/health/checks/:service', async (request) => {
      const args = {
        service: named(request, 'service', 'service name'),
        meta: nodeMeta(request),
        filter: filterOf(request),
      }
      return listed((await request.query(health.ofService, args)).value)
    }),
    route('GET', '/v1/health/state/:state', async (request) => {
      const args = {
        state: named(request, 'state', 'check state'),
        meta: nodeMeta(request),
        filter: filterOf(request),
      }
      return listed((await request.query(health.inState, args)).value)
    }),
    route('GET', '/v1/health/service/:service', async (request) => {
      const args = {
        service: named(request, 'service', 'service name'),
        tags: tagsOf(request),
        meta: nodeMeta(request),
        filter: filterOf(request),
        passing: request.search.flag('passing'),
      }
      return listed((await request.query(health.service, args)).value)
    }),
  ]
}

function tagsOf(request: ApiRequest): string[] {
  return request.search.all('tag').filter((tag) => tag !== '')
}
