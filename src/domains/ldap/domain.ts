/** The directory login method: people log in with the name and password that an LDAP directory knows. */
import { defineDomain, defineService } from '../domain.ts'
import { routesAtFirstPath, type LoginType } from '../logins/mounted-routes.ts'
import { ldapCommands } from './commands.ts'
import { Directories } from './directories.ts'
import { ldapReactions } from './ending-commands.ts'
import { ldapExplainMethods } from './explain-methods.ts'
import { explainLogin } from './explain-routes.ts'
import { ldapLoginMethods, loginMethod } from './login-methods.ts'
import { ldapMethods } from './methods.ts'
import { startRotation } from './rotation-duty.ts'
import { ldapRoutes } from './routes.ts'
import { directories } from './services.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

const ldapLogins: LoginType = { method: loginMethod, routes: ldapRoutes, explain: explainLogin }

export const ldapDomain = defineDomain({
  name: 'ldap',
  tables: [ldapConfigs, ldapGroups, ldapUsers],
  commands: ldapCommands,
  reactions: ldapReactions,
  services: [
    defineService(directories, {
      create: ({ clock }) => new Directories(clock),
      stop: (kept) => kept.stop(),
    }),
  ],
  methods: [
    ...Object.values(ldapMethods),
    ...Object.values(ldapLoginMethods),
    ...Object.values(ldapExplainMethods),
  ],
  routes: routesAtFirstPath(ldapLogins),
  loginTypes: [ldapLogins],
  duties: [
    {
      name: 'ldap',
      start: ({ log, ...context }) => startRotation({ ...context, log: log.named('ldap') }),
    },
  ],
  measured: {
    refused: (service) => ({ directory_logins: service(directories).refused }),
  },
})
