/** Services and checks of one machine, run by its agent and told to the catalog. */
import { alsoByGet } from '../../api/by-get.ts'
import { defineDomain, defineService } from '../domain.ts'
import { localHealthMethods } from './health-methods.ts'
import { localHealthRoutes } from './health-routes.ts'
import { agentUpdateMethod } from './peer-methods.ts'
import { localServiceMethods } from './methods.ts'
import { localServiceRoutes } from './routes.ts'
import { LocalServices } from './local-services.ts'
import { localNode, localServices } from './services.ts'

export const localServicesDomain = defineDomain({
  name: 'local-services',
  services: [
    defineService(localServices, {
      create: ({ service, clock, log }) =>
        new LocalServices({ ...service(localNode), clock, log: log.named('catalog') }),
      start: (agent, { service }) => agent.start(service(localNode).definitions()),
      reload: (agent, { service }) => agent.define(service(localNode).definitions()),
      replaced: (agent) => agent.compare(),
      stop: (agent) => agent.stop(),
    }),
  ],
  methods: [
    ...Object.values(localServiceMethods),
    ...Object.values(localHealthMethods),
    agentUpdateMethod,
  ],
  routes: [
    ...localServiceRoutes,
    ...alsoByGet(localServiceRoutes, [
      '/v1/agent/service/deregister/*',
      '/v1/agent/check/deregister/*',
      '/v1/agent/check/pass/*',
      '/v1/agent/check/warn/*',
      '/v1/agent/check/fail/*',
    ]),
    ...localHealthRoutes,
  ],
})
