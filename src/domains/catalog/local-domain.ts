/** Services and checks of one machine, run by its agent and told to the catalog. */
import { alsoByGet } from '../../api/by-get.ts'
import { defineDomain, defineService } from '../domain.ts'
import { agentHealthMethods } from './agent-health-methods.ts'
import { agentHealthRoutes } from './agent-health-routes.ts'
import { agentCatalogMethods } from './agent-methods.ts'
import { agentCatalogRoutes } from './agent-routes.ts'
import { LocalAgent } from './agent/local-agent.ts'
import { localNode, localServices } from './services.ts'

export const localServicesDomain = defineDomain({
  name: 'local-services',
  services: [
    defineService(localServices, {
      create: ({ service, clock, log }) =>
        new LocalAgent({ ...service(localNode), clock, log: log.named('catalog') }),
      start: (agent, { service }) => agent.start(service(localNode).definitions),
      stop: (agent) => agent.stop(),
    }),
  ],
  methods: [...Object.values(agentCatalogMethods), ...Object.values(agentHealthMethods)],
  routes: [
    ...agentCatalogRoutes,
    ...alsoByGet(agentCatalogRoutes, [
      '/v1/agent/service/deregister/:id',
      '/v1/agent/check/deregister/:id',
      '/v1/agent/check/pass/:id',
      '/v1/agent/check/warn/:id',
      '/v1/agent/check/fail/:id',
    ]),
    ...agentHealthRoutes,
  ],
})
