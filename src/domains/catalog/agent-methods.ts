/** What may be asked of the agent that is asked: the services and checks registered with it. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod, type LocalContext, type Requirement } from '../../rpc/method.ts'
import { checkDefinition, AgentService, CheckDefinition } from './agent/definition.ts'
import { rowOfCheck, shownOfAgent } from './agent-shown.ts'
import type { LocalAgent } from './agent/local-agent.ts'
import { Listing, type CompileFilter } from './listing.ts'
import { CheckStatus, checkService, keyOfName, membershipCheckId, Name } from './model.ts'
import { mustMay, writesCheck, writesService } from './register-methods.ts'
import { shownCheck } from './shown.ts'

/** Checks that come with one service. */
export const checksPerServiceMax = 64

const InitialCheck = Type.Object({
  definition: CheckDefinition,
  status: Type.Union([Type.Null(), CheckStatus]),
})
const Id = Type.Object({ id: Name })

export type AgentFilters = { readonly services: CompileFilter; readonly checks: CompileFilter }

export type AgentCatalogMethods = ReturnType<typeof agentCatalogMethods>

export function agentCatalogMethods(agent: LocalAgent, filters: AgentFilters) {
  const registerService = defineLocalMethod({
    kind: 'local',
    name: 'agent.service.register',
    args: Type.Object({
      service: AgentService,
      checks: Type.Immutable(Type.Array(InitialCheck, { maxItems: checksPerServiceMax })),
      replacesChecks: Type.Boolean(),
    }),
    requires: ({ service }) => writesService(service.name),
    run: async (context, { service, checks, replacesChecks }): Promise<void> => {
      const before = agent.service(service.id)
      if (before !== null) mustMay(context, writesService(before.name))
      for (const { definition } of checks) mayTake(context, definition.id)
      const checked = checks.map(({ definition, status }) => ({
        definition: checkDefinition(definition),
        status,
      }))
      await agent.registerService(checkService(service), checked, replacesChecks)
    },
  })

  const deregisterService = defineLocalMethod({
    kind: 'local',
    name: 'agent.service.deregister',
    args: Id,
    requires: ({ id }) => mayWrite(id),
    run: (_context, { id }): Promise<void> => agent.deregisterService(id),
  })

  const registerCheck = defineLocalMethod({
    kind: 'local',
    name: 'agent.check.register',
    args: InitialCheck,
    requires: ({ definition }) => mayWrite(definition.serviceId),
    run: async (context, { definition, status }): Promise<void> => {
      mayTake(context, definition.id)
      await agent.registerCheck({ definition: checkDefinition(definition), status })
    },
  })

  const deregisterCheck = defineLocalMethod({
    kind: 'local',
    name: 'agent.check.deregister',
    args: Id,
    requires: ({ id }) => mayWrite(agent.check(id)?.definition.serviceId ?? ''),
    run: (_context, { id }): Promise<void> => agent.deregisterCheck(id),
  })

  const report = defineLocalMethod({
    kind: 'local',
    name: 'agent.check.report',
    args: Type.Object({ id: Name, status: CheckStatus, output: Type.String() }),
    requires: ({ id }) => mayWrite(agent.check(id)?.definition.serviceId ?? ''),
    run: (_context, { id, status, output }): Promise<void> => agent.report(id, status, output),
  })

  const maintain = defineLocalMethod({
    kind: 'local',
    name: 'agent.maintain',
    args: Type.Object({
      /** '': the node. */
      serviceId: Type.String(),
      isOn: Type.Boolean(),
      reason: Type.String(),
    }),
    requires: ({ serviceId }) => mayWrite(serviceId),
    run: (_context, { serviceId, isOn, reason }): Promise<void> =>
      agent.setMaintenance(serviceId, isOn, reason),
  })

  const services = defineLocalMethod({
    kind: 'local',
    name: 'agent.services',
    args: Type.Object({ filter: Type.String() }),
    requires: () => ({ resource: 'none' }),
    run: async (context, { filter }) => {
      const listing = new Listing(context, filters.services(filter))
      const shown: [string, object][] = []
      for (const service of agent.services()) {
        if (!listing.maySeeService({ node: agent.node.name, name: service.name })) continue
        const entry = shownOfAgent(agent, service)
        if (await listing.keeps(entry)) shown.push([service.id, entry])
      }
      return { value: Object.fromEntries(shown), filtered: listing.filtered }
    },
  })

  const checks = defineLocalMethod({
    kind: 'local',
    name: 'agent.checks',
    args: Type.Object({ filter: Type.String() }),
    requires: () => ({ resource: 'none' }),
    run: async (context, { filter }) => {
      const listing = new Listing(context, filters.checks(filter))
      const shown: [string, object][] = []
      for (const check of agent.checks()) {
        const row = rowOfCheck(agent, check)
        if (!listing.maySeeCheck(row)) continue
        const entry = shownCheck(row)
        if (await listing.keeps(entry)) shown.push([row.id, entry])
      }
      return { value: Object.fromEntries(shown), filtered: listing.filtered }
    },
  })

  /** By the service's id; '' or one that is not here: as the node. */
  function mayWrite(serviceId: string): Requirement {
    return writesCheck(agent.node.name, agent.service(serviceId)?.name ?? '')
  }

  /** A check's name may be taken from whoever has it only with the right to write that. */
  function mayTake(context: LocalContext, id: string): void {
    const before = agent.check(id)
    if (before !== null) mustMay(context, mayWrite(before.definition.serviceId))
    if (keyOfName(id) === keyOfName(membershipCheckId)) {
      throw new MusterError('invalid_argument', `CheckID ${id} is the leader's: choose another`)
    }
  }

  return {
    registerService,
    deregisterService,
    registerCheck,
    deregisterCheck,
    report,
    maintain,
    services,
    checks,
  }
}
