/** Mounts of login methods: where each is served, how its tokens are issued, and what ends with it. */
import { RouteTable } from '../../api/route-table.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView, readBarrier, stateReader } from '../host.ts'
import { loginRenewal } from '../acl/services.ts'
import { loginCommands } from './commands.ts'
import { loginReactions } from './ending-commands.ts'
import { mayExplainLogin } from './explain-methods.ts'
import { explainRoutes } from './explain-routes.ts'
import { FailedLogins, LoginSources, RefusalTimes } from './failures.ts'
import { countFailure } from './guard.ts'
import { issueAtLeader } from './issue.ts'
import { lockCommands, lockReactions } from './lock-commands.ts'
import { lockMethods } from './lock-methods.ts'
import { lockRoutes } from './lock-routes.ts'
import { mountMethods } from './methods.ts'
import { mountRoutes } from './mount-routes.ts'
import {
  anyMountRoutes,
  loginExplanations,
  mountedRoutes,
  tokenFront,
  tokenRoutes,
} from './mounted-routes.ts'
import { Mounts } from './mounts.ts'
import { renewalBy } from './renewal.ts'
import { failedLogins, loginMethods, loginMounts, loginSources, refusalTimes } from './services.ts'
import { lockRows, mountRows } from './table.ts'
import { uiMethods } from './ui-methods.ts'
import { uiRoutes } from './ui-routes.ts'

/** How long a request below a mount that is not known here waits for the leader to say that there is none. */
const mountWaitMs = 2_000
const unending = new AbortController().signal

export const loginsDomain = defineDomain({
  name: 'logins',
  tables: [mountRows, lockRows],
  commands: { ...loginCommands, ...lockCommands },
  reactions: [...loginReactions, ...lockReactions],
  services: [
    defineService(loginMounts, {
      create: ({ service, log }) =>
        new Mounts({
          reader: service(stateReader),
          view: service(openView),
          freshen: () => service(readBarrier)('leader', mountWaitMs, unending),
          log: log.named('logins'),
        }),
    }),
    defineService(failedLogins, { create: () => new FailedLogins() }),
    defineService(loginSources, { create: () => new LoginSources() }),
    defineService(refusalTimes, { create: () => new RefusalTimes() }),
    defineService(loginMethods, {
      create: ({ domains }) =>
        new Map(
          domains
            .flatMap(({ loginTypes = [] }) => loginTypes)
            .map(({ method }) => [method.type, method]),
        ),
      start: (methods, { service }) => {
        service(loginRenewal).current = renewalBy(methods)
      },
    }),
    defineService(loginExplanations, {
      create: ({ domains }) =>
        new Map(
          domains
            .flatMap(({ loginTypes = [] }) => loginTypes)
            .flatMap(({ method, explain }) =>
              explain === undefined ? [] : [[method.type, explain] as const],
            ),
        ),
    }),
    defineService(mountedRoutes, {
      create: ({ domains }) =>
        new Map(
          domains
            .flatMap(({ loginTypes = [] }) => loginTypes)
            .map(({ method, routes }) => [method.type, routes]),
        ),
    }),
    defineService(tokenRoutes, {
      create: ({ domains }) =>
        new RouteTable(
          domains
            .flatMap(({ routes = [] }) => routes)
            .filter(({ path }) => path.startsWith(tokenFront)),
        ),
    }),
  ],
  methods: [
    ...Object.values(mountMethods),
    ...Object.values(lockMethods),
    ...Object.values(uiMethods),
    issueAtLeader,
    mayExplainLogin,
    countFailure,
  ],
  routes: [...mountRoutes, ...explainRoutes, ...lockRoutes, ...uiRoutes, ...anyMountRoutes],
})
