/** `/v1/catalog` and `/v1/health`. */
import { Type } from 'typebox'
import { listHeaders, listReply, pageOf } from '../../api/pages.ts'
import { named } from '../../api/path-parameter.ts'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, filterable, flag, listing, ok, optionally, text } from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { agentAdmissionMethods } from './agent-admission.ts'
import { healthMethods } from './health-methods.ts'
import { catalogMethods } from './methods.ts'
import { catalogDeregister, catalogRegister } from './register-methods.ts'
import { agentNodeOf, deregistrationOf, registrationOf } from './registration-routes.ts'
import { filterOf, listed, nodeMeta, ofNodeMeta, scopedRoutes, tailOf } from './scope-routes.ts'
import {
  AgentNodeBody,
  Check,
  DeregistrationBody,
  HealthOfService,
  Node,
  NodeWithServiceList,
  NodeWithServices,
  RegistrationBody,
  ServiceOfNode,
  ServicesByName,
} from './shapes.ts'

/** Longest wait of a blocking query, as Consul caps it. */
const waitMsMax = 600_000

const route = scopedRoutes({ waitMsMax })

const ofService = { '*': text('Name of the service, slashes included') }
const ofNode = { node: text('Name or UUID of the node') }
const ofTag = optionally({ tag: text('That the instance must have, once or several times') })

export const catalogRoutes: readonly DescribedRoute[] = [
  route(
    'PUT',
    '/v1/catalog/register',
    {
      summary: 'Register a node, with a service and checks',
      permission: 'node:write',
      bodySchema: RegistrationBody,
      reply: ok(Type.Literal(true)),
      errors: ['conflict'],
      example: {
        body: {
          Node: 'web-1',
          Address: '10.0.0.11',
          Service: { ID: 'shop-1', Service: 'shop', Port: 8080, Tags: ['blue'] },
          Check: { CheckID: 'shop-1', Name: 'HTTP', ServiceID: 'shop-1', Status: 'passing' },
        },
      },
    },
    async (request) => {
      await request.call(catalogRegister, registrationOf(request, request.service(site).datacenter))
      return { json: true }
    },
  ),
  route(
    'PUT',
    '/v1/catalog/deregister',
    {
      summary: 'Deregister a node, a service or a check',
      permission: 'node:write',
      bodySchema: DeregistrationBody,
      reply: ok(Type.Literal(true)),
      example: { body: { Node: 'web-2' } },
    },
    async (request) => {
      await request.call(
        catalogDeregister,
        deregistrationOf(request, request.service(site).datacenter),
      )
      return { json: true }
    },
  ),
  // By client agents.
  route(
    'PUT',
    '/v1/catalog/agent',
    {
      summary: 'Register the node of a client agent',
      permission: 'node:write',
      bodySchema: AgentNodeBody,
      reply: ok(Type.Literal(true)),
      errors: ['conflict'],
      example: {
        body: {
          Node: 'web-3',
          Address: '10.0.0.13',
          ID: '6b1c1d2e-0000-4000-8000-000000000003',
          NodeMeta: { 'muster-gossip': '10.0.0.13:4648' },
        },
      },
    },
    async (request) => {
      await request.call(agentAdmissionMethods.registerAgent, { node: agentNodeOf(request) })
      return { json: true }
    },
  ),
  route(
    'GET',
    '/v1/catalog/datacenters',
    {
      summary: 'Known datacenters',
      permission: 'none',
      reply: ok(Type.Array(Type.String())),
      example: {},
    },
    (request) => ({
      json: [request.service(site).datacenter],
    }),
  ),
  route(
    'GET',
    '/v1/catalog/nodes',
    {
      summary: 'List nodes',
      permission: 'filtered',
      query: { ...blocking, ...listing, ...ofNodeMeta },
      reply: ok(Type.Array(Node)),
      example: {},
    },
    async (request) => {
      const args = { ...pageOf(request), meta: nodeMeta(request) }
      return listReply((await request.query(catalogMethods.nodes, args)).value)
    },
  ),
  route(
    'GET',
    '/v1/catalog/services',
    {
      summary: 'List names of services with their tags',
      permission: 'filtered',
      query: { ...blocking, ...listing, ...ofNodeMeta },
      reply: ok(ServicesByName),
      example: {},
    },
    async (request) => {
      const args = { ...pageOf(request), meta: nodeMeta(request) }
      const { value } = await request.query(catalogMethods.services, args)
      const json = Object.fromEntries(value.rows.map(({ name, tags }) => [name, tags]))
      return { json, ...listHeaders(value) }
    },
  ),
  route(
    'GET',
    '/v1/catalog/service/*',
    {
      summary: 'List the instances of a service',
      permission: 'filtered',
      params: ofService,
      query: { ...blocking, ...listing, ...ofNodeMeta, ...ofTag },
      reply: ok(Type.Array(ServiceOfNode)),
      example: { url: '/v1/catalog/service/shop?tag=blue' },
    },
    async (request) => {
      return listReply((await request.query(catalogMethods.service, instancesOf(request))).value)
    },
  ),
  route(
    'GET',
    '/v1/catalog/node/:node',
    {
      summary: 'Read a node with its services',
      permission: 'filtered',
      params: ofNode,
      query: { ...blocking, ...filterable },
      reply: ok(NodeWithServices),
      example: { url: '/v1/catalog/node/web-1' },
    },
    async (request) => {
      const args = { node: named(request, 'node', 'node name'), filter: filterOf(request) }
      return listed((await request.query(catalogMethods.node, args)).value)
    },
  ),
  route(
    'GET',
    '/v1/catalog/node-services/:node',
    {
      summary: 'Read a node with a list of its services',
      permission: 'filtered',
      params: ofNode,
      query: { ...blocking, ...filterable },
      reply: ok(NodeWithServiceList),
      example: { url: '/v1/catalog/node-services/web-1' },
    },
    async (request) => {
      const args = { node: named(request, 'node', 'node name'), filter: filterOf(request) }
      const { value: found, ...rest } = (await request.query(catalogMethods.node, args)).value
      const value = { Node: found?.Node ?? null, Services: Object.values(found?.Services ?? {}) }
      return listed({ value, ...rest })
    },
  ),
  route(
    'GET',
    '/v1/health/node/:node',
    {
      summary: 'List the checks of a node',
      permission: 'filtered',
      params: ofNode,
      query: { ...blocking, ...listing },
      reply: ok(Type.Array(Check)),
      example: { url: '/v1/health/node/web-1' },
    },
    async (request) => {
      const args = { ...pageOf(request), node: named(request, 'node', 'node name') }
      return listReply((await request.query(healthMethods.ofNode, args)).value)
    },
  ),
  route(
    'GET',
    '/v1/health/checks/*',
    {
      summary: 'List the checks of a service',
      permission: 'filtered',
      params: ofService,
      query: { ...blocking, ...listing, ...ofNodeMeta },
      reply: ok(Type.Array(Check)),
      example: { url: '/v1/health/checks/shop' },
    },
    async (request) => {
      const args = {
        service: tailOf(request, 'service name'),
        meta: nodeMeta(request),
        ...pageOf(request),
      }
      return listReply((await request.query(healthMethods.ofService, args)).value)
    },
  ),
  route(
    'GET',
    '/v1/health/state/:state',
    {
      summary: 'List checks in a state',
      permission: 'filtered',
      params: { state: Type.Enum(['any', 'passing', 'warning', 'critical']) },
      query: { ...blocking, ...listing, ...ofNodeMeta },
      reply: ok(Type.Array(Check)),
      example: { url: '/v1/health/state/critical' },
    },
    async (request) => {
      const args = {
        state: named(request, 'state', 'check state'),
        meta: nodeMeta(request),
        ...pageOf(request),
      }
      return listReply((await request.query(healthMethods.inState, args)).value)
    },
  ),
  route(
    'GET',
    '/v1/health/service/*',
    {
      summary: 'List the instances of a service with node and checks',
      permission: 'filtered',
      params: ofService,
      query: {
        ...blocking,
        ...listing,
        ...ofNodeMeta,
        ...ofTag,
        ...optionally({ passing: flag('Only those whose checks all pass') }),
      },
      reply: ok(Type.Array(HealthOfService)),
      example: { url: '/v1/health/service/shop?passing=true' },
    },
    async (request) => {
      const args = {
        ...instancesOf(request),
        passing: request.search.flag('passing'),
      }
      return listReply((await request.query(healthMethods.service, args)).value)
    },
  ),
]

/** Which instances of a service are asked for. */
function instancesOf(request: ApiRequest) {
  return {
    service: tailOf(request, 'service name'),
    tags: request.search.all('tag').filter((tag) => tag !== ''),
    meta: nodeMeta(request),
    ...pageOf(request),
  }
}
