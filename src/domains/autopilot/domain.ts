/** How the leader looks after the servers, and how they fare. */
import { defineDomain } from '../domain.ts'
import { autopilotCommands } from './commands.ts'
import { autopilotMethods } from './methods.ts'
import { autopilotRoutes } from './routes.ts'
import { autopilot } from './table.ts'

export const autopilotDomain = defineDomain({
  name: 'autopilot',
  tables: [autopilot],
  commands: autopilotCommands,
  methods: Object.values(autopilotMethods),
  routes: autopilotRoutes,
})
