/** Client nodes: machines whose agents hold an uplink to the servers. */
import { agentCalls, agentLink, clusterServers } from '../../rpc/agents.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { knownNodes } from '../catalog/services.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView } from '../host.ts'
import { appliedCommands } from '../sessions/services.ts'
import { agentLinkOf, reachOf } from './agent-link.ts'
import { agentNodeMethods } from './agent-methods.ts'
import { nodeCommands, purgeNode, updateStatus } from './commands.ts'
import { Heartbeats } from './heartbeats.ts'
import { nodeMethods } from './methods.ts'
import { NodeAdmission } from './node-admission.ts'
import { heardMethod, nodePeerMethods } from './peer-methods.ts'
import { nodeRoutes } from './routes.ts'
import { nodeAdmission, nodeHeartbeats, nodeSettings, nodeUplinks } from './services.ts'
import { nodes } from './table.ts'
import { clientNodeTopic } from './topics.ts'
import { uplinkRoutes } from './uplink-routes.ts'
import { NodeUplinks } from './uplinks.ts'

const never = new AbortController().signal
const ofServer = { token: null, remote: '', requestId: 'nodes' }

export const nodesDomain = defineDomain({
  name: 'nodes',
  tables: [nodes],
  commands: nodeCommands,
  services: [
    defineService(nodeHeartbeats, { create: () => new Heartbeats() }),
    defineService(nodeAdmission, { create: ({ clock }) => new NodeAdmission(clock) }),
    defineService(nodeUplinks, {
      create: ({ service, clock, log }) => {
        const { heartbeats: settings, random } = service(nodeSettings)
        return new NodeUplinks({
          settings,
          random,
          clock,
          log: log.named('nodes'),
          callsOf: (agent) => service(agentCalls)(agent),
          report: (ids) =>
            service(askLeader)({ caller: ofServer, signal: never }, heardMethod, { ids: [...ids] }),
        })
      },
      start: (uplinks, { service }) => {
        const applied = service(appliedCommands)
        applied.onCommand(purgeNode, ({ args }) => uplinks.forgotten(args.id))
        applied.onCommand(updateStatus, ({ args, outcome }) => {
          for (const { id, status } of args.updates) {
            if (status === 'down' && outcome.changed.includes(id)) void uplinks.doubted(id)
          }
        })
      },
      stop: (uplinks) => uplinks.stop(),
    }),
    defineService(agentLink, {
      create: ({ service }) =>
        agentLinkOf({
          uplinks: service(nodeUplinks),
          servers: () => service(clusterServers),
          view: service(openView),
        }),
    }),
  ],
  methods: [...Object.values(nodeMethods), ...nodePeerMethods, ...agentNodeMethods],
  routes: [...nodeRoutes, ...uplinkRoutes],
  topics: [clientNodeTopic],
  measured: {
    declare: (metrics, service) => {
      const help = 'Uplinks of client agents that this server holds.'
      metrics.gauge('muster_uplinks', help, () => service(nodeUplinks).count)
    },
    refused: (service) => ({ uplinks: service(nodeUplinks).refusedCount }),
  },
  duties: [
    {
      name: 'nodes',
      start: ({ service, ...given }) => {
        const log = given.log.named('nodes')
        const context = { ...given, log, applied: service(appliedCommands) }
        const members = service(knownNodes)
        const isFailed = (id: string) =>
          members.servers().some((server) => server.id === id && server.status === 'failed')
        const reach = reachOf(service(nodeUplinks), () => service(clusterServers), isFailed)
        const settings = service(nodeSettings).heartbeats
        return service(nodeHeartbeats).start({ ...context, settings, members, reach })
      },
    },
  ],
})
