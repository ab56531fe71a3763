/** Events that agents tell one another by gossip. */
import { inDatacenter } from '../../api/datacenter.ts'
import { site } from '../../api/site.ts'
import { localServices } from '../local-services/services.ts'
import { defineDomain, defineService } from '../domain.ts'
import { userEventMethods } from './methods.ts'
import { RecentEvents } from './recent-events.ts'
import { userEventRoutes } from './routes.ts'
import { recentEvents, userEventPool } from './services.ts'

export const userEventsDomain = defineDomain({
  name: 'user-events',
  services: [
    defineService(recentEvents, {
      create: ({ service, log }) => {
        const agent = {
          node: service(site).name,
          services: () => service(localServices).services(),
        }
        return new RecentEvents(agent, log.named('events'))
      },
      start: (recent, { service }) => recent.listen(service(userEventPool)),
      stop: (recent) => recent.stop(),
    }),
  ],
  methods: Object.values(userEventMethods),
  routes: inDatacenter(userEventRoutes),
})
