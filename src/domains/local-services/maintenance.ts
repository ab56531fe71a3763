/** Maintenance: a critical check by hand, so that queries for healthy services leave these out until it is over. */
import { checkDefinition, type CheckDefinition } from './definition.ts'

export const nodeMaintenanceId = '_node_maintenance'
const servicePrefix = '_service_maintenance:'

/** Of a service, or of the node for ''. Throws `invalid_argument` for a reason that is too long. */
export function maintenanceCheck(serviceId: string, reason: string): CheckDefinition {
  const isNode = serviceId === ''
  const what = isNode ? 'node' : 'service'
  return checkDefinition({
    id: isNode ? nodeMaintenanceId : `${servicePrefix}${serviceId}`,
    name: isNode ? 'Node Maintenance Mode' : 'Service Maintenance Mode',
    notes: reason === '' ? `This ${what} is in maintenance; nobody said why.` : reason,
    serviceId,
    probe: { type: 'maintenance' },
    successBeforePassing: 0,
    failuresBeforeWarning: 0,
    failuresBeforeCritical: 0,
    deregisterAfterMs: null,
  })
}
