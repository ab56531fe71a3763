/**
 * Services and checks that this agent's configuration files define: by their keys, each once, each check of a service that
 * the files define too, so that a start never depends on what was registered before.
 */
import { invalid, type MusterError } from '../../lib/errors.ts'
import { keyOfName, membershipCheckId, type CheckStatus } from '../catalog/model.ts'
import type { AgentService, CheckDefinition } from './definition.ts'

/** `status`: what it is until it is known; null: what it was, or critical. */
export type InitialCheck = {
  readonly definition: CheckDefinition
  readonly status: CheckStatus | null
}

export type Definitions = {
  readonly services: readonly {
    readonly service: AgentService
    readonly checks: readonly InitialCheck[]
  }[]
  readonly checks: readonly InitialCheck[]
}

/** Which checks may run commands: none, those that configuration files define, or also those registered over HTTP. */
export type ScriptChecks = 'none' | 'files' | 'all'

export const noDefinitions: Definitions = { services: [], checks: [] }

export type DefinedByKey = {
  readonly services: ReadonlyMap<string, AgentService>
  /** By the key of the check's id. */
  readonly checks: ReadonlyMap<string, InitialCheck>
}

/** Throws `invalid_argument` for what is defined twice, for a check without its service, and for the leader's check. */
export function definedByKey(definitions: Definitions): DefinedByKey {
  const services = new Map<string, AgentService>()
  for (const { service } of definitions.services) {
    if (services.has(service.id)) throw twice('service', service.id)
    services.set(service.id, service)
  }
  const checks = new Map<string, InitialCheck>()
  const all = [...definitions.services.flatMap(({ checks }) => checks), ...definitions.checks]
  for (const check of all) {
    const { id, serviceId } = check.definition
    const key = keyOfName(id)
    if (checks.has(key)) throw twice('check', id)
    if (key === keyOfName(membershipCheckId)) {
      throw invalid(
        `the configuration's check ${JSON.stringify(id)} is the leader's: choose another id`,
      )
    }
    if (serviceId !== '' && !services.has(serviceId)) {
      throw invalid(
        `the configuration's check ${JSON.stringify(id)} has the service_id ${JSON.stringify(serviceId)}, which no service in the configuration has`,
      )
    }
    checks.set(key, check)
  }
  return { services, checks }
}

/** Throws `invalid_argument` for a check registered over HTTP that runs a command, unless that is allowed. */
export function refuseRegisteredScripts(
  checks: readonly InitialCheck[],
  allowed: ScriptChecks,
): void {
  const script = checks.find(isScript)
  if (script === undefined || allowed === 'all') return
  throw invalid(
    `check ${JSON.stringify(script.definition.id)} runs a script: scripts of checks registered over HTTP are off; set enable_script_checks in the configuration of this agent to allow them, or define the check in its configuration files (enable_local_script_checks)`,
  )
}

/** The same for a check that the configuration files define. */
export function refuseDefinedScripts(checks: readonly InitialCheck[], allowed: ScriptChecks): void {
  const script = checks.find(isScript)
  if (script === undefined || allowed !== 'none') return
  throw invalid(
    `the configuration's check ${JSON.stringify(script.definition.id)} runs a script: set enable_local_script_checks to allow scripts of the configuration files, or enable_script_checks to allow all`,
  )
}

function isScript({ definition }: InitialCheck): boolean {
  return definition.probe.type === 'script'
}

function twice(kind: string, id: string): MusterError {
  return invalid(`the configuration defines the ${kind} ${JSON.stringify(id)} twice`)
}
