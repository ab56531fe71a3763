/** What a client agent serves itself; everything else is passed on. */
import type { ApiReply, ApiRequest, Route } from '../api/route.ts'
import type { HttpServerOptions } from '../api/server.ts'
import { eventStreamPath } from '../domains/events/routes.ts'
import { statusPaths } from '../domains/operator/routes.ts'
import { agentPaths, allocationOf } from '../domains/tasks/agent-routes.ts'
import { execPath } from '../domains/tasks/exec-routes.ts'
import { agentTasks } from '../domains/tasks/services.ts'
import { MusterError } from '../lib/errors.ts'
import { serviceKey } from '../rpc/services.ts'
import type { ApiProxy } from './proxy.ts'

export type ClientFront = {
  readonly proxy: ApiProxy
  /** Of this agent. */
  readonly id: string
  readonly node: string
}

export const clientFront = serviceKey<ClientFront>('client.front')

/** Of Nomad's users: servers join and give up members. Consul's own paths are for every agent. */
const ofServers: readonly string[] = ['/v1/agent/join', '/v1/agent/force-leave']

/** Beside those of the domains. */
export const clientRoutes: readonly Route[] = [
  {
    method: 'PUT',
    path: '/v1/session/create',
    switches: 'presence',
    anyRegion: true,
    atLeast: [{ resource: 'session', access: 'write' }],
    // A session that names no node is on the node of the agent that was asked.
    handle: (request) => {
      const { proxy, node } = request.service(clientFront)
      return proxy.passWith(request, withNode(request.json, node))
    },
  },
]

/** A route of a domain as this agent serves it: here, or at the process that the request is for. */
export function atItsPlace(route: Route): Route {
  return { ...route, handle: (request) => passedOn(request, route) ?? route.handle(request) }
}

/** What is passed on, and what must be known of it before it is. */
export function elsewhereOf(proxy: ApiProxy): NonNullable<HttpServerOptions['elsewhere']> {
  return { route: proxy.route, websocketPaths: [eventStreamPath], publicPaths: statusPaths }
}

/** Null: this agent answers itself. */
function passedOn(request: ApiRequest, route: Route): Promise<ApiReply> | null {
  if (ofServers.includes(route.path)) throw onlyServers()
  const { proxy, id } = request.service(clientFront)
  const isElsewhere = agentPaths.some((own) => route.path.startsWith(own))
    ? request.service(agentTasks)?.namespaceOf(allocationOf(request)) == null
    : isForOther(request, id)
  if (!isElsewhere) return null
  if (route.path === execPath && request.asksForWebSocket) return proxy.converse(request)
  return route.bodySchema === undefined || request.json === undefined
    ? proxy.pass(request, true)
    : proxy.passWith(request, request.json)
}

/** It names another process by `server_id` or `node_id`. */
function isForOther({ search }: ApiRequest, id: string): boolean {
  const node = search.text('node_id') || null
  return Boolean(search.text('server_id')) || (node !== null && node.toLowerCase() !== id)
}

function withNode(json: unknown, node: string): unknown {
  if (json === undefined || json === null) return { Node: node }
  // What is no object is the server's to refuse.
  if (typeof json !== 'object' || Array.isArray(json)) return json
  const names = Object.entries(json).flatMap(([name, value]) => (value === null ? [] : [name]))
  return names.some((name) => name.toLowerCase() === 'node') ? json : { ...json, Node: node }
}

function onlyServers(): MusterError {
  return new MusterError('not_implemented', 'this agent is a client: ask a server for that')
}
