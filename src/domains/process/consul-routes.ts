/** `/v1/agent/version`, and `/v1/agent/self` in Consul's shape: every member is an object, as clients in Go expect. */
import type { DescribedRoute } from '../../api/route.ts'
import { ok } from '../../api/shape.ts'
import { shownForConsul } from '../members/shown.ts'
import { processMethods } from './methods.ts'
import type { AgentMember } from './process-info.ts'
import { ConsulSelf, ConsulVersion } from './shapes.ts'

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
      const text = (name: string): string => textOf(config, name)
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
            BuildDate,
          },
          DebugConfig: { ...config, ACLsEnabled: isAclEnabled(config['ACL']) },
          // Coordinates have their own path: /v1/coordinate/node/:node.
          Coord: null,
          Member: shownInConsul(member, name),
          Stats: { ...stats, consul: { server: String(isServer) } },
          Meta: {},
        },
      }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/version',
    summary: 'Version of the program of this agent',
    permission: 'agent:read',
    reply: ok(ConsulVersion),
    example: {},
    anyRegion: true,
    handle: async (request) => {
      const { config } = await request.call(processMethods.self, {})
      const HumanVersion = textOf(config, 'Version')
      return { json: { SHA: textOf(config, 'Revision'), BuildDate, HumanVersion, FIPS: '' } }
    },
  },
]

/** Of no release: builds are the same whenever they are made. */
const BuildDate = '1970-01-01T00:00:00Z'

function textOf(config: Readonly<Record<string, unknown>>, name: string): string {
  const value = config[name]
  return typeof value === 'string' ? value : ''
}

/** Absent where the agent is a client, which has no access control of its own. */
function isAclEnabled(acl: unknown): boolean {
  return typeof acl === 'object' && acl !== null && 'Enabled' in acl && acl.Enabled === true
}

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
