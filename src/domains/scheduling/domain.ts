/** Scheduling: which node runs what. */
import { askLeader } from '../../rpc/ask-leader.ts'
import { serviceKey } from '../../rpc/services.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView, readBarrier } from '../host.ts'
import { appliedCommands } from '../sessions/services.ts'
import { BorrowedWork } from './borrowed-work.ts'
import { drainPlanMethods } from './drain-plan-methods.ts'
import { drainPlanRoutes } from './drain-plan-routes.ts'
import { observe } from './observed-commands.ts'
import { schedulingPeerMethods } from './peer-methods.ts'
import { planMethods } from './plan-methods.ts'
import { planRoutes } from './plan-routes.ts'
import { startScheduling } from './scheduling.ts'
import { evaluationLending, schedulerWorkers, workerSettings } from './services.ts'
import { WorkerPool } from './workers.ts'

const borrowedWork = serviceKey<BorrowedWork>('scheduling.borrowed')

export const schedulingDomain = defineDomain({
  name: 'scheduling',
  methods: [
    ...Object.values(planMethods),
    ...Object.values(drainPlanMethods),
    ...schedulingPeerMethods,
  ],
  routes: [...planRoutes, ...drainPlanRoutes],
  measured: {
    declare: (metrics, service) => {
      const at = () => service(evaluationLending).lender
      const queuedHelp = 'Evaluations that wait for a worker or are worked on, at the leader.'
      metrics.gauge('muster_evaluations_queued', queuedHelp, () => at()?.queuedCount ?? 0)
      const lentHelp = 'Of these the ones that workers of other servers have.'
      metrics.gauge('muster_evaluations_lent', lentHelp, () => at()?.lentCount ?? 0)
    },
  },
  services: [
    defineService(schedulerWorkers, {
      create: ({ service, clock }) => new WorkerPool({ clock, ...service(workerSettings) }),
    }),
    defineService(evaluationLending, { create: () => ({ lender: null }) }),
    defineService(borrowedWork, {
      create: ({ service, clock, log }) =>
        new BorrowedWork({
          clock,
          log: log.named('scheduling'),
          view: service(openView),
          applied: service(appliedCommands),
          barrier: service(readBarrier),
          ask: (from, method, args) => service(askLeader)(from, method, args),
          workers: service(schedulerWorkers),
          leads: service(workerSettings).leads,
        }),
      start: (work) => work.start(),
      replaced: (work) => work.replaced(),
      stop: (work) => work.stop(),
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
          lending: service(evaluationLending),
          observe: (saw) =>
            observe((command, listener) => applied.onCommand(command, listener), saw),
        })
      },
    },
  ],
})
