/** Services and checks of this agent as the API shows them: as those of the catalog, without indexes of the log. */
import { shownType, type AgentService } from './definition.ts'
import type { AgentCheck, LocalServices } from './local-services.ts'
import type { CheckRow } from '../catalog/model.ts'
import { shownService } from '../catalog/shown.ts'

export function shownOfAgent(agent: LocalServices, service: AgentService) {
  const shown = shownService({ ...service, createIndex: 0, modifyIndex: 0 })
  const { CreateIndex: _created, ModifyIndex: _modified, ...rest } = shown
  return { ...rest, Datacenter: agent.node.datacenter }
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
