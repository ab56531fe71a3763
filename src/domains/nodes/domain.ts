/** Client nodes: machines whose agents hold an uplink to the servers. */
import { agentCalls, agentLink, clusterServers } from '../../rpc/agents.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { knownNodes } from '../catalog/services.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView, stateReader } from '../host.ts'
import { appliedCommands } from '../sessions/services.ts'
import { agentLinkOf, reachOf } from './agent-link.ts'
import { agentNodeMethods } from './agent-methods.ts'
import { brakeCommands } from './brake-commands.ts'
import { startBrake } from './brake-duty.ts'
import { brakeMethods } from './brake-methods.ts'
import { brakeOf } from './brake-queries.ts'
import { brakeRoutes } from './brake-routes.ts'
import { stormBrake } from './brake-table.ts'
import { nodeCommands, purgeNode, updateStatus } from './commands.ts'
import { Heartbeats } from './heartbeats.ts'
import { nodeMethods } from './methods.ts'
import { NodeAdmission } from './node-admission.ts'
import { heardMethod, nodePeerMethods } from './peer-methods.ts'
import { nodeRoutes } from './routes.ts'
import { nodeAdmission, nodeHeartbeats, nodeSettings, nodeUplinks, nodeWork } from './services.ts'
import { nodes } from './table.ts'
import { clientNodeTopic, stormBrakeTopic } from './topics.ts'
import { uplinkRoutes } from './uplink-routes.ts'
import { NodeUplinks } from './uplinks.ts'

const never = new AbortController().signal
const ofServer = { token: null, remote: '', requestId: 'nodes' }

export const nodesDomain = defineDomain({
  name: 'nodes',
  tables: [nodes, stormBrake],
  commands: { ...nodeCommands, ...brakeCommands },
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
            const isDoubted = status === 'down' || status === 'disconnected'
            if (isDoubted && outcome.changed.includes(id)) void uplinks.doubted(id)
          }
        })
      },
      replaced: (uplinks) => uplinks.replaced(),
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
  methods: [
    ...Object.values(nodeMethods),
    ...Object.values(brakeMethods),
    ...nodePeerMethods,
    ...agentNodeMethods,
  ],
  routes: [...nodeRoutes, ...brakeRoutes, ...uplinkRoutes],
  topics: [clientNodeTopic, stormBrakeTopic],
  measured: {
    declare: (metrics, service) => {
      const help = 'Uplinks of client agents that this server holds.'
      metrics.gauge('muster_uplinks', help, () => service(nodeUplinks).count)
      const brakeHelp = 'Whether the storm brake is on: 1, or 0.'
      metrics.gauge('muster_storm_brake', brakeHelp, () =>
        Number(brakeOf(service(stateReader)).on !== null),
      )
    },
    refused: (service) => ({ uplinks: service(nodeUplinks).refusedCount }),
  },
  duties: [
    {
      name: 'brake',
      start: ({ service, ...given }) => {
        const applied = service(appliedCommands)
        return startBrake({
          ...given,
          log: given.log.named('nodes'),
          onCommand: (command, listener) => applied.onCommand(command, listener),
        })
      },
    },
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
        const work = service(nodeWork)
        return service(nodeHeartbeats).start({ ...context, settings, members, reach, work })
      },
    },
  ],
})
