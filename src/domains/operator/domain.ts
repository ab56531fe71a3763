/** Raft configuration, leadership, snapshots. */
import { site } from '../../api/site.ts'
import { defineDomain, defineService, type ServiceContext } from '../domain.ts'
import { onView, openView, readBarrier } from '../host.ts'
import { clusterKeys } from '../variables/services.ts'
import { ConsulSaver } from './consul-saver.ts'
import { operatorMethods } from './methods.ts'
import { Restorer } from './restore.ts'
import { operatorRoutes } from './routes.ts'
import { sysRoutes } from './sys-routes.ts'
import { ScheduledSnapshots } from './scheduled-snapshots.ts'
import { archiving, consulSaver, restorer, scheduledSnapshots } from './services.ts'
import { snapshotMetrics } from './snapshot-metrics.ts'
import { archiveOf, snapshotMethods } from './snapshot.ts'

/** A snapshot of a state that may be old waits so long, and is tried again in the schedule's next round. */
const freshMs = 10_000

export const operatorDomain = defineDomain({
  name: 'operator',
  services: [
    defineService(consulSaver, {
      create: ({ service }) => new ConsulSaver(service(archiving).folder),
    }),
    defineService(restorer, {
      create: ({ service, clock }) => {
        const { folder, commandVersion } = service(archiving)
        const keys = service(clusterKeys)
        return new Restorer({
          folder,
          commandVersion,
          holdsClusterKey: (id) => keys.get(id) !== null,
          clock,
        })
      },
      start: (restoring) => restoring.clean(),
    }),
    defineService(scheduledSnapshots, {
      create: createSchedule,
      start: (scheduled) => scheduled?.start(),
      stop: (scheduled) => scheduled?.stop(),
    }),
  ],
  measured: {
    declare: (metrics, service) => {
      const scheduled = service(scheduledSnapshots)
      if (scheduled !== null) snapshotMetrics(metrics, scheduled)
    },
  },
  methods: [...Object.values(operatorMethods), ...Object.values(snapshotMethods)],
  routes: [...operatorRoutes, ...sysRoutes],
})

function createSchedule({ service, clock, log }: ServiceContext): ScheduledSnapshots | null {
  const { schedule } = service(archiving)
  if (schedule === null) return null
  return new ScheduledSnapshots({
    schedule,
    server: service(site).name,
    archive: async (signal) => {
      await service(readBarrier)('linearizable', freshMs, signal)
      return onView(service(openView), (reader) => archiveOf(service, reader))
    },
    clock,
    log: log.named('operator'),
  })
}
