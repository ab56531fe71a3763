/** `/v1/agent/uplink`: a client agent's request becomes its uplink. */
import type { DescribedRoute } from '../../api/route.ts'
import { text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { nodeMethods } from './methods.ts'
import { nodeUplinks } from './services.ts'
import { uplinkHeaders, uplinkPath, uplinkVersion } from './uplink-words.ts'

export const uplinkRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: uplinkPath,
    summary: 'The WebSocket of a client agent to its servers',
    permission: 'node:write',
    query: { version: text(`Of what both sides say; ${uplinkVersion}`) },
    reply: { 101: {} },
    example: {
      url: `${uplinkPath}?version=${uplinkVersion}`,
      shownOnly: 'client agents open it, with headers that bear the secret of their node',
    },
    websocket: true,
    handle: async (request) => {
      const { remote } = request
      const agent = await request.call(nodeMethods.openUplink, {
        id: request.header(uplinkHeaders.nodeId) ?? '',
        name: request.header(uplinkHeaders.nodeName) ?? '',
        secret: request.header(uplinkHeaders.secret) ?? '',
        version: request.search.text('version') ?? '',
      })
      if (!request.asksForWebSocket) {
        throw new MusterError('invalid_argument', 'an uplink is a WebSocket: ask for one')
      }
      const uplinks = request.service(nodeUplinks)
      return { carry: (socket) => uplinks.accept(socket, agent, remote) }
    },
  },
]
