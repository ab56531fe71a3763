/** Files of tasks on the machines of client agents. */
import { defineDomain } from '../domain.ts'
import { taskFileMethods } from './methods.ts'
import { taskFileRoutes } from './routes.ts'

export const taskFilesDomain = defineDomain({
  name: 'task-files',
  methods: Object.values(taskFileMethods),
  routes: taskFileRoutes,
})
