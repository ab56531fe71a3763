/** Who is alive: TTLs kept across elections, and what ends with a session. */
import { inDatacenter } from '../../api/datacenter.ts'
import { defineDomain, defineService } from '../domain.ts'
import { openView } from '../host.ts'
import { sessionCommands } from './commands.ts'
import { SessionDeadlines } from './deadlines.ts'
import { startSessionDuties } from './duties.ts'
import { sessionReactions } from './ending-commands.ts'
import { sessionMethods } from './methods.ts'
import { hasSessions } from './queries.ts'
import { Renewals } from './renewals.ts'
import { sessionRoutes } from './routes.ts'
import { appliedCommands, sessionDeadlines, sessionRenewals } from './services.ts'
import { sessions } from './table.ts'
import { sessionTopic } from './topics.ts'

export const sessionsDomain = defineDomain({
  name: 'sessions',
  tables: [sessions],
  commands: sessionCommands,
  // Sessions end in the entry that loses what they are bound to, or the token that they were made with.
  reactions: sessionReactions,
  tenant: { what: 'sessions', livesIn: hasSessions },
  services: [
    defineService(sessionRenewals, { create: ({ clock }) => new Renewals(clock) }),
    defineService(sessionDeadlines, {
      create: ({ service, clock }) =>
        new SessionDeadlines({
          clock,
          view: service(openView),
          applied: service(appliedCommands),
        }),
      stop: (deadlines) => deadlines.stop(),
    }),
  ],
  methods: Object.values(sessionMethods),
  routes: inDatacenter(sessionRoutes),
  topics: [sessionTopic],
  duties: [
    {
      name: 'sessions',
      start: ({ service, ...context }) =>
        startSessionDuties({
          ...context,
          log: context.log.named('sessions'),
          deadlines: service(sessionDeadlines),
          renewals: service(sessionRenewals),
        }),
    },
  ],
})
