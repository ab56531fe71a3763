/** What a client agent serves itself; everything else is passed on. */
import type { ApiRequest, Route } from '../api/route.ts'
import type { HttpServerOptions } from '../api/server.ts'
import { eventStreamPath } from '../domains/events/routes.ts'
import { statusPaths } from '../domains/operator/routes.ts'
import { agentPaths } from '../domains/tasks/agent-routes.ts'
import { execPath } from '../domains/tasks/exec-routes.ts'
import { MusterError } from '../lib/errors.ts'
import type { ApiProxy } from './proxy.ts'

/** Of the scheduler's users: servers join and give up members. The session service's own paths are for every agent. */
const ofServers: readonly string[] = ['/v1/agent/join', '/v1/agent/force-leave']

export type ClientRoutesOptions = {
  /** Of this agent. */
  readonly routes: readonly Route[]
  readonly proxy: ApiProxy
  readonly self: { readonly id: string; readonly node: string }
  /** Whether this agent runs the allocation, or did. */
  readonly hasAllocation: (id: string) => boolean
}

export function clientRoutes(options: ClientRoutesOptions): readonly Route[] {
  const { routes, proxy, self, hasAllocation } = options
  const isElsewhere = (request: ApiRequest, { path }: Route): boolean =>
    agentPaths.some((own) => path.startsWith(own))
      ? !hasAllocation(request.parameter('alloc_id').toLowerCase())
      : isForOther(request, self.id)
  return [
    ...routes.map((route): Route => ({
      ...route,
      handle: (request) => {
        if (ofServers.includes(route.path)) throw onlyServers()
        if (!isElsewhere(request, route)) return route.handle(request)
        if (route.path === execPath && request.asksForWebSocket) return proxy.converse(request)
        return route.bodySchema === undefined || request.json === undefined
          ? proxy.pass(request, true)
          : proxy.passWith(request, request.json)
      },
    })),
    {
      method: 'PUT',
      path: '/v1/session/create',
      switches: 'presence',
      anyRegion: true,
      atLeast: [{ resource: 'session', access: 'write' }],
      // A session that names no node is on the node of the agent that was asked.
      handle: (request) => proxy.passWith(request, withNode(request.json, self.node)),
    },
  ]
}

/** What is passed on, and what must be known of it before it is. */
export function elsewhereOf(proxy: ApiProxy): NonNullable<HttpServerOptions['elsewhere']> {
  return { route: proxy.route, websocketPaths: [eventStreamPath], publicPaths: statusPaths }
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
