/**
 * The domains in order: the only file that names them all. The order is the law between them: a domain may read the
 * state of an earlier one, never of a later.
 */
import type { Domain as StateDomain } from '../fsm/domain.ts'
import { aclDomain } from './acl/domain.ts'
import { allocationsDomain } from './allocations/domain.ts'
import { localDomains } from './local-registry.ts'
import { autopilotDomain } from './autopilot/domain.ts'
import { cascadesDomain } from './cascades/domain.ts'
import { catalogDomain } from './catalog/domain.ts'
import { stateDomains, type Domain } from './domain.ts'
import { deploymentsDomain } from './deployments/domain.ts'
import { drainsDomain } from './drains/domain.ts'
import { entitiesDomain } from './entities/domain.ts'
import { evaluationsDomain } from './evaluations/domain.ts'
import { eventsDomain } from './events/domain.ts'
import { jobsDomain } from './jobs/domain.ts'
import { kvDomain } from './kv/domain.ts'
import { ldapDomain } from './ldap/domain.ts'
import { loginsDomain } from './logins/domain.ts'
import { namespacesDomain } from './namespaces/domain.ts'
import { nodesDomain } from './nodes/domain.ts'
import { operatorDomain } from './operator/domain.ts'
import { orchestratorDomain } from './orchestrator/domain.ts'
import { schedulerSettingsDomain } from './scheduler-settings/domain.ts'
import { schedulingDomain } from './scheduling/domain.ts'
import { sessionsDomain } from './sessions/domain.ts'
import { templatesDomain } from './templates/domain.ts'
import { variablesDomain } from './variables/domain.ts'

/** Of a server, in order. */
export const serverDomains: readonly Domain[] = [
  namespacesDomain,
  entitiesDomain,
  aclDomain,
  catalogDomain,
  sessionsDomain,
  evaluationsDomain,
  schedulerSettingsDomain,
  nodesDomain,
  kvDomain,
  variablesDomain,
  jobsDomain,
  deploymentsDomain,
  allocationsDomain,
  templatesDomain,
  drainsDomain,
  schedulingDomain,
  loginsDomain,
  ldapDomain,
  orchestratorDomain,
  autopilotDomain,
  operatorDomain,
  eventsDomain,
  cascadesDomain,
  ...localDomains,
]

/** What the state machine needs: no instance of anything. */
export const domains: readonly StateDomain[] = stateDomains(serverDomains)
