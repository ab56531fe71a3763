/** Entities: who logs in, under one id whatever the login method calls them. */
import { defineDomain } from '../domain.ts'
import { entityCommands } from './commands.ts'
import { entityMethods } from './methods.ts'
import { entityRoutes } from './routes.ts'
import { entities, entityAliases } from './table.ts'

export const entitiesDomain = defineDomain({
  name: 'entities',
  tables: [entities, entityAliases],
  commands: entityCommands,
  methods: Object.values(entityMethods),
  routes: entityRoutes,
})
