/** Deployments: how versions of jobs replace one another. */
import { defineDomain } from '../domain.ts'
import { deploymentCommands } from './commands.ts'
import { deploymentMethods } from './methods.ts'
import { deploymentRoutes } from './routes.ts'
import { deployments } from './table.ts'
import { deploymentTopic } from './topics.ts'
import { startDeploymentWatcher } from './watcher.ts'

export const deploymentsDomain = defineDomain({
  name: 'deployments',
  tables: [deployments],
  commands: deploymentCommands,
  methods: Object.values(deploymentMethods),
  routes: deploymentRoutes,
  topics: [deploymentTopic],
  duties: [
    {
      name: 'deployments',
      start: ({ log, ...given }) =>
        startDeploymentWatcher({ ...given, log: log.named('deployments') }),
    },
  ],
})
