/** The way to the client agent of a node: over the uplink that this server holds, or to the server that does. */
import { MusterError } from '../../lib/errors.ts'
import type { AgentLink, ClusterServers } from '../../rpc/agents.ts'
import { onView, type OpenView } from '../host.ts'
import { holdingMethod } from './peer-methods.ts'
import { nodeById } from './queries.ts'
import type { Reach } from './heartbeats.ts'
import type { NodeUplinks } from './uplinks.ts'

/** Other servers have this long to say whose uplinks they hold. */
const holdingMs = 2_000
/** The same, where they ask the agents first. */
const askingMs = 3_500

export type AgentLinkOptions = {
  readonly uplinks: NodeUplinks
  readonly servers: () => ClusterServers
  readonly view: OpenView
}

export function agentLinkOf({ uplinks, servers, view }: AgentLinkOptions): AgentLink {
  return {
    async holderOf(node) {
      const [here] = await uplinks.holding([node], false)
      if (here !== undefined) return null
      const answers = await servers().askOthers(
        holdingMethod,
        { ids: [node], ask: false },
        holdingMs,
      )
      const holder = answers.find(({ reply }) => reply?.ids.includes(node))
      if (holder !== undefined) return holder.server
      if (onView(view, (reader) => nodeById(reader, node)) === null) {
        throw new MusterError('not_found', `unknown node ${node}: no agent registered it`)
      }
      throw new MusterError(
        'unavailable',
        `no server has an uplink of node ${node}: its agent is down, or on its way to another server`,
      )
    },
    call: (node, request, signal) => uplinks.call(node, request, signal),
    stream: (node, request, signal) => uplinks.stream(node, request, signal),
  }
}

/** `isFailed`: of a server, as the leader sees it; one that failed holds no uplinks. */
export function reachOf(
  uplinks: NodeUplinks,
  servers: () => ClusterServers,
  isFailed: (server: string) => boolean,
): Reach {
  return async (ids) => {
    const asked = servers().askOthers(holdingMethod, { ids: [...ids], ask: true }, askingMs)
    const [own, others] = await Promise.all([uplinks.holding(ids, true), asked])
    return {
      answering: new Set([...own, ...others.flatMap(({ reply }) => reply?.ids ?? [])]),
      stopped: new Set([
        ...uplinks.stopped(ids),
        ...others.flatMap(({ reply }) => reply?.stopped ?? []),
      ]),
      isUnsure: others.some(({ server, reply }) => reply === null && !isFailed(server.id)),
    }
  }
}
