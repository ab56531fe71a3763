/** Names that scope the rest. */
import { defineDomain } from '../domain.ts'
import { namespaceCommands } from './commands.ts'
import { namespaceMethods } from './methods.ts'
import { namespaceRoutes } from './routes.ts'
import { namespaces, namespaceSeed } from './table.ts'

export const namespacesDomain = defineDomain({
  name: 'namespaces',
  tables: [namespaces],
  seed: namespaceSeed,
  commands: (domains) => namespaceCommands(domains.flatMap(({ tenant }) => tenant ?? [])),
  methods: namespaceMethods,
  routes: namespaceRoutes,
})
