/** Nodes, their services and checks; what is lost with them. */
import { defineDomain, defineService } from '../domain.ts'
import { Admission } from './admission.ts'
import { agentAdmissionMethods } from './agent-admission.ts'
import { catalogCommands } from './commands.ts'
import { startMemberDuty } from './duties.ts'
import { healthMethods } from './health-methods.ts'
import { catalogMethods } from './methods.ts'
import { catalogDeregister, catalogRegister } from './register-methods.ts'
import { catalogRoutes } from './routes.ts'
import { agentAdmission, knownNodes } from './services.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'
import { checkTopic, nodeTopic, serviceTopic } from './topics.ts'

export const catalogDomain = defineDomain({
  name: 'catalog',
  tables: [catalogNodes, catalogServices, catalogChecks],
  commands: catalogCommands,
  services: [
    defineService(agentAdmission, {
      create: ({ service, clock }) =>
        new Admission({ answers: service(knownNodes).answers, clock }),
    }),
  ],
  methods: [
    catalogRegister,
    catalogDeregister,
    ...Object.values(catalogMethods),
    ...Object.values(agentAdmissionMethods),
    ...Object.values(healthMethods),
  ],
  routes: catalogRoutes,
  topics: [nodeTopic, serviceTopic, checkTopic],
  duties: [
    {
      name: 'members',
      start: ({ service, ...context }) =>
        startMemberDuty({
          ...context,
          members: service(knownNodes),
          log: context.log.named('catalog'),
        }),
    },
  ],
})
