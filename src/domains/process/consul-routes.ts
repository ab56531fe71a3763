/** `/v1/agent/self` in Consul's shape: every member is an object, as clients in Go expect. */
import type { DescribedRoute } from '../../api/route.ts'
import { ok } from '../../api/shape.ts'
import { shownForConsul } from '../members/shown.ts'
import { processMethods } from './methods.ts'
import type { AgentMember } from './process-info.ts'
import { ConsulSelf } from './shapes.ts'

export const processConsulRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/agent/self',
    summary: "Configuration and figures of this agent, in Consul's shape",
    permission: 'agent:read',
    reply: ok(ConsulSelf),
    example: {},
    dialect: 'consul',
    anyRegion: true,
    handle: async (request) => {
      const { config, member, stats } = await request.call(processMethods.self, {})
      const text = (name: string): string => {
        const value = config[name]
        return typeof value === 'string' ? value : ''
      }
      const name = text('NodeName') || member.name
      const isServer = stats['raft'] !== undefined
      return {
        json: {
          Config: {
            Datacenter: text('Datacenter'),
            PrimaryDatacenter: text('Datacenter'),
            NodeName: name,
            NodeID: member.tags['id'] ?? '',
            Revision: text('Revision'),
            Server: isServer,
            Version: text('Version'),
            BuildDate: '1970-01-01T00:00:00Z',
          },
          DebugConfig: config,
          // Coordinates have their own path: /v1/coordinate/node/:node.
          Coord: null,
          Member: shownInConsul(member, name),
          Stats: { ...stats, consul: { server: String(isServer) } },
          Meta: {},
        },
      }
    },
  },
]

function shownInConsul({ protocol, delegate, ...member }: AgentMember, name: string): unknown {
  const versions = {
    protocolMin: protocol.min,
    protocolMax: protocol.max,
    protocolCurrent: protocol.current,
    delegateMin: delegate.min,
    delegateMax: delegate.max,
    delegateCurrent: delegate.current,
  }
  const tags = new Map(Object.entries(member.tags))
  return shownForConsul({ ...member, tags, versions }, name)
}
