/** Templates of tasks: the data that they are made of. */
import { defineDomain, defineService } from '../domain.ts'
import { authorizer, readBarrier, watchedState } from '../host.ts'
import { clusterKeyring } from '../variables/services.ts'
import { templateData } from './agent-methods.ts'
import { DataWatches } from './data-watches.ts'
import { dataWatches } from './services.ts'

export const templatesDomain = defineDomain({
  name: 'templates',
  services: [
    defineService(dataWatches, {
      create: ({ clock, service }) =>
        new DataWatches({
          clock,
          state: () => service(watchedState),
          barrier: () => service(readBarrier),
          authorizer: () => service(authorizer),
          open: (reader, sealed) => service(clusterKeyring).open(reader, sealed),
        }),
      stop: (watches) => watches.stop(),
    }),
  ],
  methods: [templateData],
})
