/** Jobs: what is to run. */
import { defineDomain } from '../domain.ts'
import { appliedCommands } from '../sessions/services.ts'
import { jobCommands } from './commands.ts'
import { dispatchMethods } from './dispatch-methods.ts'
import { dispatchRoutes } from './dispatch-routes.ts'
import { startLaunches } from './launches.ts'
import { jobMethods } from './methods.ts'
import { jobRoutes } from './routes.ts'
import { hasJobs } from './queries.ts'
import { registeredJobMethods } from './registered-methods.ts'
import { registeredJobRoutes } from './registered-routes.ts'
import { scaleMethods } from './scale-methods.ts'
import { scaleRoutes } from './scale-routes.ts'
import { scalingPolicyMethods } from './scaling-methods.ts'
import { scalingPolicyRoutes } from './scaling-routes.ts'
import { jobs, jobVersions, scalings } from './table.ts'
import { jobTopic } from './topics.ts'

export const jobsDomain = defineDomain({
  name: 'jobs',
  tenant: { what: 'jobs', livesIn: hasJobs },
  tables: [jobs, jobVersions, scalings],
  commands: jobCommands,
  methods: [
    ...Object.values(jobMethods),
    ...Object.values(registeredJobMethods),
    ...Object.values(dispatchMethods),
    ...Object.values(scaleMethods),
    ...Object.values(scalingPolicyMethods),
  ],
  routes: [
    ...jobRoutes,
    ...registeredJobRoutes,
    ...dispatchRoutes,
    ...scaleRoutes,
    ...scalingPolicyRoutes,
  ],
  topics: [jobTopic],
  duties: [
    {
      name: 'launches',
      start: ({ service, log, ...given }) => {
        const applied = service(appliedCommands)
        return startLaunches({
          ...given,
          log: log.named('launches'),
          onCommand: (command, listener) => applied.onCommand(command, listener),
        })
      },
    },
  ],
})
