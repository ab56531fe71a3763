/** `/v1/agent/self` in Consul's shape: every member is an object, as clients in Go expect. */
import type { Route } from '../../api/route.ts'
import type { AgentMethods } from './methods.ts'
import type { AgentMember } from './this-agent.ts'

/** How Consul's tools know a member; the pool's domain says it. `name`: without the region. */
export type ShowMember = (member: AgentMember, name: string) => unknown

export function agentConsulRoutes(methods: AgentMethods, showMember: ShowMember): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/agent/self',
      dialect: 'consul',
      anyRegion: true,
      handle: async (request) => {
        const { config, member, stats } = await request.call(methods.self, {})
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
            Member: showMember(member, name),
            Stats: { ...stats, consul: { server: String(isServer) } },
            Meta: {},
          },
        }
      },
    },
  ]
}
