/** Drains: nodes are emptied. */
import { defineDomain } from '../domain.ts'
import { appliedCommands } from '../sessions/services.ts'
import { observe } from './commands.ts'
import { startDrains } from './drains.ts'
import { drainMethods } from './methods.ts'
import { drainRoutes } from './routes.ts'

export const drainsDomain = defineDomain({
  name: 'drains',
  methods: Object.values(drainMethods),
  routes: drainRoutes,
  duties: [
    {
      name: 'drains',
      start: ({ service, log, ...given }) => {
        const applied = service(appliedCommands)
        return startDrains({
          ...given,
          log: log.named('drains'),
          observe: (observer) =>
            observe((command, listener) => applied.onCommand(command, listener), observer),
        })
      },
    },
  ],
})
