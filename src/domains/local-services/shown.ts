/** Services and checks of this agent as the API shows them: as those of the catalog, without indexes of the log. */
import { createHash } from 'node:crypto'
import { shownType, type AgentService } from './definition.ts'
import type { AgentCheck, LocalServices } from './local-services.ts'
import type { CheckRow } from '../catalog/model.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import { shownService } from '../catalog/shown.ts'

export function shownOfAgent(agent: LocalServices, service: AgentService) {
  const shown = shownService({ ...service, createIndex: 0, modifyIndex: 0 })
  const { CreateIndex: _created, ModifyIndex: _modified, ...rest } = shown
  return { ...rest, Datacenter: agent.node.datacenter }
}

/** With what clients ask again by: the same for a service that is shown the same, whatever the order of its pairs. */
export function hashedOfAgent(agent: LocalServices, service: AgentService) {
  const shown = shownOfAgent(agent, service)
  const text = JSON.stringify(shown, (_name, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value,
  )
  return { ...shown, ContentHash: createHash('sha256').update(text).digest('hex').slice(0, 16) }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

export function rowOfCheck(agent: LocalServices, { definition, state }: AgentCheck): CheckRow {
  const service = agent.service(definition.serviceId)
  return {
    id: definition.id,
    name: definition.name,
    notes: definition.notes,
    ...state,
    node: agent.node.name,
    serviceId: definition.serviceId,
    serviceName: service?.name ?? '',
    serviceTags: service?.tags ?? [],
    type: shownType(definition.probe),
    definition: '{}',
    createIndex: 0,
    modifyIndex: 0,
  }
}
