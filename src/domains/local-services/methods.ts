/** What may be asked of the agent that is asked: the services and checks registered with it. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { onePage, wholeList } from '../../rpc/list.ts'
import { defineLocalMethod, type LocalContext, type Requirement } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkDefinition, AgentService, CheckDefinition } from './definition.ts'
import { rowOfCheck, shownOfAgent } from './shown.ts'
import type { LocalServices } from './local-services.ts'
import { readsCheck, readsService } from '../catalog/listing.ts'
import { CheckStatus, checkService, keyOfName, membershipCheckId, Name } from '../catalog/model.ts'
import { writesCheck, writesService } from '../catalog/register-methods.ts'
import { localServices } from './services.ts'
import { filters, shownCheck } from '../catalog/shown.ts'

/** Checks that come with one service. */
export const checksPerServiceMax = 64

const InitialCheck = Type.Object({
  definition: CheckDefinition,
  status: Type.Union([Type.Null(), CheckStatus]),
})
const Id = Type.Object({ id: Name })

/** Of what is known by an id: the same whether or not it is there, and of whatever name. */
const missing = "'service:write' on the name of the service, or 'node:write' on this node"

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
    const agent = context.service(localServices)
    const before = agent.service(service.id)
    if (before !== null) mustMay(context, writesService(before.name), missing)
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
  requires: ({ id }, service) => mayWrite(service(localServices), id),
  missing,
  run: (context, { id }): Promise<void> => context.service(localServices).deregisterService(id),
})

const registerCheck = defineLocalMethod({
  kind: 'local',
  name: 'agent.check.register',
  args: InitialCheck,
  requires: ({ definition }, service) => mayWrite(service(localServices), definition.serviceId),
  missing,
  run: async (context, { definition, status }): Promise<void> => {
    mayTake(context, definition.id)
    await context
      .service(localServices)
      .registerCheck({ definition: checkDefinition(definition), status })
  },
})

const deregisterCheck = defineLocalMethod({
  kind: 'local',
  name: 'agent.check.deregister',
  args: Id,
  requires: ({ id }, service) => mayWriteCheck(service(localServices), id),
  missing,
  run: (context, { id }): Promise<void> => context.service(localServices).deregisterCheck(id),
})

const report = defineLocalMethod({
  kind: 'local',
  name: 'agent.check.report',
  args: Type.Object({ id: Name, status: CheckStatus, output: Type.String() }),
  requires: ({ id }, service) => mayWriteCheck(service(localServices), id),
  missing,
  run: (context, { id, status, output }): Promise<void> =>
    context.service(localServices).report(id, status, output),
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
  requires: ({ serviceId }, service) => mayWrite(service(localServices), serviceId),
  missing,
  run: (context, { serviceId, isOn, reason }): Promise<void> =>
    context.service(localServices).setMaintenance(serviceId, isOn, reason),
})

const services = defineLocalMethod({
  kind: 'local',
  name: 'agent.services',
  args: Type.Object({ filter: Type.String() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { filter }) => {
    const agent = context.service(localServices)
    const { rows, filtered } = await onePage(context, wholeList, {
      pages: [[...agent.services()]],
      keyOf: ({ id }) => [id],
      show: (service, may) =>
        may(readsService(service.name)) ? shownOfAgent(agent, service) : null,
      filter: filters.services.compile(filter),
    })
    return { value: Object.fromEntries(rows.map((shown) => [shown.ID, shown])), filtered }
  },
})

const checks = defineLocalMethod({
  kind: 'local',
  name: 'agent.checks',
  args: Type.Object({ filter: Type.String() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { filter }) => {
    const agent = context.service(localServices)
    const { rows, filtered } = await onePage(context, wholeList, {
      pages: [[...agent.checks()].map((check) => rowOfCheck(agent, check))],
      keyOf: ({ id }) => [id],
      show: (row, may) => (may(readsCheck(row)) ? shownCheck(row) : null),
      filter: filters.checks.compile(filter),
    })
    return { value: Object.fromEntries(rows.map((shown) => [shown.CheckID, shown])), filtered }
  },
})

/** By the service's id; '': as the node. Of an id that nobody has: as if it were the service's name. */
function mayWrite(agent: LocalServices, serviceId: string): Requirement {
  const name = serviceId === '' ? '' : (agent.service(serviceId)?.name ?? serviceId)
  return writesCheck(agent.node.name, name)
}

/** Of an id that nobody has, the service that a check is named after by itself (`service:web:2`), else the node. */
function mayWriteCheck(agent: LocalServices, id: string): Requirement {
  const named = /^service:(.+?)(?::\d+)?$/.exec(id)?.[1] ?? ''
  return mayWrite(agent, agent.check(id)?.definition.serviceId ?? named)
}

/** A check's name may be taken from another service only with the right to write that service. */
function mayTake(context: LocalContext, id: string): void {
  const agent = context.service(localServices)
  const before = agent.check(id)
  if (before !== null) mustMay(context, mayWrite(agent, before.definition.serviceId), missing)
  if (keyOfName(id) === keyOfName(membershipCheckId)) {
    throw new MusterError('invalid_argument', `CheckID ${id} is the leader's: choose another`)
  }
}

export const localServiceMethods = {
  registerService,
  deregisterService,
  registerCheck,
  deregisterCheck,
  report,
  maintain,
  services,
  checks,
}
