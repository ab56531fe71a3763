/** Allocations: which node runs what. */
import { askLeader } from '../../rpc/ask-leader.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView, readBarrier } from '../host.ts'
import { failedWork } from '../jobs/services.ts'
import { nodeWork } from '../nodes/services.ts'
import { appliedCommands } from '../sessions/services.ts'
import { allocationAgentMethods } from './agent-methods.ts'
import { AllocationCollector } from './collector.ts'
import { allocationCommands } from './commands.ts'
import { rescheduleFailed } from './failed-work.ts'
import { AllocationFeeds } from './feeds.ts'
import { allocationMethods } from './methods.ts'
import { moveAllocations } from './move-commands.ts'
import { nodeReactions } from './node-commands.ts'
import { isAwaitedOfNode, windowMsOfNode } from './node-work-queries.ts'
import { reportedMethod } from './peer-methods.ts'
import { applyPlan } from './plan-commands.ts'
import { ReportBatches } from './reports.ts'
import { allocationRoutes } from './routes.ts'
import { scaleStatus } from './scale-status-methods.ts'
import { scaleStatusRoute } from './scale-status-routes.ts'
import { allocationCollector, allocationFeeds, reportBatches } from './services.ts'
import { allocations } from './table.ts'
import { takenOfNodes } from './taken-model.ts'
import { allocationTopic } from './topics.ts'

const never = new AbortController().signal
const ofServer = { token: null, remote: '', requestId: 'allocations' }

export const allocationsDomain = defineDomain({
  name: 'allocations',
  tables: [allocations, takenOfNodes],
  commands: allocationCommands,
  reactions: nodeReactions,
  services: [
    defineService(allocationFeeds, {
      create: ({ clock, service }) =>
        new AllocationFeeds({
          clock,
          view: service(openView),
          barrier: () => service(readBarrier),
        }),
      start: (feeds, { service }) => {
        const applied = service(appliedCommands)
        applied.onCommand(applyPlan, ({ outcome }) => feeds.wake(outcome.nodes))
        applied.onCommand(moveAllocations, ({ outcome }) => feeds.wake(outcome.nodes))
        applied.onReplaced(() => feeds.wakeAll())
      },
      stop: (feeds) => feeds.wakeAll(),
    }),
    defineService(nodeWork, {
      create: () => ({ windowMs: windowMsOfNode, isAwaited: isAwaitedOfNode }),
    }),
    defineService(failedWork, { create: () => ({ reschedule: rescheduleFailed }) }),
    defineService(allocationCollector, { create: () => new AllocationCollector() }),
    defineService(reportBatches, {
      create: ({ clock, service }) =>
        new ReportBatches(clock, (reports) =>
          service(askLeader)({ caller: ofServer, signal: never }, reportedMethod, {
            reports: [...reports],
          }),
        ),
    }),
  ],
  methods: [
    ...Object.values(allocationMethods),
    ...allocationAgentMethods,
    reportedMethod,
    scaleStatus,
  ],
  routes: [...allocationRoutes, scaleStatusRoute],
  topics: [allocationTopic],
  duties: [
    {
      name: 'allocations',
      start: ({ service, log, ...given }) =>
        service(allocationCollector).start({ ...given, log: log.named('allocations') }),
    },
  ],
})
