/** This process: health, configuration, log, profiles. */
import { defineDomain, defineService } from '../domain.ts'
import { processConsulRoutes } from './consul-routes.ts'
import { HeapSampler } from './heap-sampler.ts'
import { processMethods } from './methods.ts'
import { Monitors } from './monitor.ts'
import { Profiles } from './profiles.ts'
import { processRoutes } from './routes.ts'
import { heapSampler, monitors, profiles, processInfo } from './services.ts'

export const processDomain = defineDomain({
  name: 'process',
  services: [
    defineService(heapSampler, {
      create: ({ clock }) => new HeapSampler(clock),
      start: async (sampler, { service }) => {
        if (service(processInfo).enableDebug === true) await sampler.start()
      },
      stop: (sampler) => sampler.stop(),
    }),
    defineService(monitors, {
      create: ({ service, clock }) => {
        const agent = service(processInfo)
        return new Monitors(agent.log, clock, agent.member().name)
      },
    }),
    defineService(profiles, {
      create: ({ service, clock }) => new Profiles(clock, service(heapSampler)),
    }),
  ],
  measured: { refused: (service) => ({ log_streams: service(monitors).refusedCount }) },
  methods: Object.values(processMethods),
  routes: [...processRoutes, ...processConsulRoutes],
})
