/** How one service of this agent fares, by the checks of it and of its node: what a load balancer beside it asks. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod } from '../../rpc/method.ts'
import { placeTaker } from '../../rpc/places.ts'
import type { Services } from '../../rpc/services.ts'
import type { AgentService } from './definition.ts'
import type { AgentCheck, LocalServices } from './local-services.ts'
import { hashedOfAgent, rowOfCheck, shownOfAgent } from './shown.ts'
import { readsService } from '../catalog/listing.ts'
import { localServices } from './services.ts'
import { shownCheck } from '../catalog/shown.ts'

/** From the best to the worst. */
export const healthWords = ['passing', 'warning', 'critical', 'maintenance'] as const
export type HealthWord = (typeof healthWords)[number]

export type ServiceHealth = {
  readonly AggregatedStatus: HealthWord
  readonly Service: ReturnType<typeof shownOfAgent>
  readonly Checks: readonly ReturnType<typeof shownCheck>[]
}

/** Of an id that nobody has: as if it were the service's name, so that only who may see such a one learns of it. */
const readsId = ({ id }: { readonly id: string }, service: Services['get']) =>
  readsService(service(localServices).service(id)?.name ?? id)

const service = defineLocalMethod({
  kind: 'local',
  name: 'agent.service.read',
  args: Type.Object({ id: Type.String() }),
  requires: readsId,
  missing: "'service:read' on the name of the service",
  run: (context, { id }) => {
    const agent = context.service(localServices)
    const found = agent.service(id)
    if (found !== null) return Promise.resolve(hashedOfAgent(agent, found))
    const text = `unknown service ID: ${JSON.stringify(id.slice(0, 256))}`
    return Promise.reject(new MusterError('not_found', text))
  },
})

/** Resolves once the service is not shown as `hash` says, or is gone, or the wait is over. */
const awaitService = defineLocalMethod({
  kind: 'local',
  name: 'agent.service.await',
  args: Type.Object({ id: Type.String(), hash: Type.String(), waitMs: Type.Number() }),
  requires: readsId,
  missing: "'service:read' on the name of the service",
  run: (context, { id, hash, waitMs }): Promise<void> => {
    const agent = context.service(localServices)
    return agent.waits.wait({
      isChanged: () => {
        const found = agent.service(id)
        return found === null || hashedOfAgent(agent, found).ContentHash !== hash
      },
      waitMs,
      taker: placeTaker(context.caller, context),
      signal: context.signal,
    })
  },
})

const healthById = defineLocalMethod({
  kind: 'local',
  name: 'agent.service.health',
  args: Type.Object({ id: Type.String() }),
  requires: readsId,
  missing: "'service:read' on the name of the service",
  run: (context, { id }): Promise<ServiceHealth | null> => {
    const agent = context.service(localServices)
    const found = agent.service(id)
    return Promise.resolve(found === null ? null : healthOf(agent, found))
  },
})

const healthByName = defineLocalMethod({
  kind: 'local',
  name: 'agent.services.health',
  args: Type.Object({ name: Type.String() }),
  requires: ({ name }) => readsService(name),
  run: (context, { name }): Promise<readonly ServiceHealth[]> => {
    const agent = context.service(localServices)
    const services = agent.services().filter((one) => one.name === name)
    return Promise.resolve(services.map((one) => healthOf(agent, one)))
  },
})

function healthOf(agent: LocalServices, of: AgentService): ServiceHealth {
  const concerned = agent
    .checks()
    .filter(({ definition }) => ['', of.id].includes(definition.serviceId))
  return {
    AggregatedStatus: worst(concerned.map(wordOf)),
    Service: shownOfAgent(agent, of),
    Checks: concerned.map((check) => shownCheck(rowOfCheck(agent, check))),
  }
}

export const localHealthMethods = { service, awaitService, healthById, healthByName }

function wordOf({ definition, state }: AgentCheck): HealthWord {
  return definition.probe.type === 'maintenance' ? 'maintenance' : state.status
}

/** Of none: passing. */
export function worst(words: readonly HealthWord[]): HealthWord {
  return healthWords.findLast((word) => words.includes(word)) ?? 'passing'
}
