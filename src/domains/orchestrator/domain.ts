/** Logins by service accounts of a container orchestrator. */
import { defineDomain, defineService, type Domain } from '../domain.ts'
import { routesAtFirstPath, type LoginType } from '../logins/mounted-routes.ts'
import { orchestratorCommands } from './commands.ts'
import { orchestratorReactions } from './ending-commands.ts'
import { orchestratorExplainMethods } from './explain-methods.ts'
import { explainLogin } from './explain-routes.ts'
import { KeyCache } from './keys.ts'
import { orchestratorLogin, orchestratorLoginMethods } from './login-methods.ts'
import { orchestratorMethods } from './methods.ts'
import { PodFiles, usualPodFolder } from './pod-files.ts'
import { ReviewClients } from './review-client.ts'
import { orchestratorRoutes } from './routes.ts'
import { parsedKeys, podFiles, reviewClients } from './services.ts'
import { orchestratorConfigs, orchestratorRoles } from './table.ts'

const loginType: LoginType = {
  method: orchestratorLogin,
  routes: orchestratorRoutes,
  explain: explainLogin,
}

/** `podFolder`: where the orchestrator's files are, if this process runs in a pod. */
export function orchestratorIn(podFolder: string): Domain {
  return defineDomain({
    name: 'orchestrator',
    tables: [orchestratorConfigs, orchestratorRoles],
    commands: orchestratorCommands,
    reactions: orchestratorReactions,
    services: [
      defineService(reviewClients, {
        create: ({ clock }) => new ReviewClients(clock),
        stop: (clients) => clients.stop(),
      }),
      defineService(podFiles, { create: ({ clock }) => new PodFiles(clock, podFolder) }),
      defineService(parsedKeys, { create: () => new KeyCache() }),
    ],
    methods: [
      ...Object.values(orchestratorMethods),
      ...Object.values(orchestratorLoginMethods),
      ...Object.values(orchestratorExplainMethods),
    ],
    routes: routesAtFirstPath(loginType),
    loginTypes: [loginType],
  })
}

export const orchestratorDomain = orchestratorIn(usualPodFolder)
