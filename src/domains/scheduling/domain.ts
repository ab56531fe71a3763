/** Scheduling: which node runs what. */
import { defineDomain, defineService } from '../domain.ts'
import { appliedCommands } from '../sessions/services.ts'
import { drainPlanMethods } from './drain-plan-methods.ts'
import { drainPlanRoutes } from './drain-plan-routes.ts'
import { observe } from './observed-commands.ts'
import { planMethods } from './plan-methods.ts'
import { planRoutes } from './plan-routes.ts'
import { startScheduling } from './scheduling.ts'
import { schedulerWorkers, workerSettings } from './services.ts'
import { WorkerPool } from './workers.ts'

export const schedulingDomain = defineDomain({
  name: 'scheduling',
  methods: [...Object.values(planMethods), ...Object.values(drainPlanMethods)],
  routes: [...planRoutes, ...drainPlanRoutes],
  services: [
    defineService(schedulerWorkers, {
      create: ({ service, clock }) => new WorkerPool({ clock, ...service(workerSettings) }),
    }),
  ],
  duties: [
    {
      name: 'scheduling',
      start: ({ service, log, ...given }) => {
        const applied = service(appliedCommands)
        return startScheduling({
          ...given,
          log: log.named('scheduling'),
          workers: service(schedulerWorkers),
          observe: (saw) =>
            observe((command, listener) => applied.onCommand(command, listener), saw),
        })
      },
    },
  ],
})
