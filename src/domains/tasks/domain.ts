/** Tasks on the machines of client agents, and their files. */
import { defineDomain } from '../domain.ts'
import { execMethods } from './exec-methods.ts'
import { execRoutes } from './exec-routes.ts'
import { fileRoutes } from './file-routes.ts'
import { taskMethods } from './methods.ts'
import { taskRoutes } from './routes.ts'

export const tasksDomain = defineDomain({
  name: 'tasks',
  methods: [...Object.values(taskMethods), ...Object.values(execMethods)],
  routes: [...taskRoutes, ...execRoutes, ...fileRoutes],
})
