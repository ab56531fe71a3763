/** How the scheduler works. */
import { defineDomain } from '../domain.ts'
import { settingsCommands } from './commands.ts'
import { settingsMethods } from './methods.ts'
import { settingsRoutes } from './routes.ts'
import { schedulerSettings } from './table.ts'

export const schedulerSettingsDomain = defineDomain({
  name: 'scheduler-settings',
  tables: [schedulerSettings],
  commands: settingsCommands,
  methods: Object.values(settingsMethods),
  routes: settingsRoutes,
})
