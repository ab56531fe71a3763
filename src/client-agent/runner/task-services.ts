/** The services of an allocation's tasks as this agent registers them: which there are now, where they are reached, and how they are looked at. Pure. */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { CheckStatus } from '../../domains/catalog/model.ts'
import { checkReachable, checkService, nameLengthMax } from '../../domains/catalog/model.ts'
import type { TaskGroup } from '../../domains/jobs/model.ts'
import { addressOf } from '../../domains/jobs/tagged-address-model.ts'
import {
  serviceKey,
  sourceMetaKey,
  type Check,
  type Service,
} from '../../domains/jobs/network-model.ts'
import {
  checkDefinition,
  type AgentService,
  type Probe,
} from '../../domains/local-services/definition.ts'
import type { InitialCheck } from '../../domains/local-services/definitions.ts'
import { invalid, textOf } from '../../lib/errors.ts'
import { hostPort } from '../../lib/host-port.ts'
import { restartRulesOf, type RestartRules } from './check-restart.ts'
import { interpolated, type Variables } from './environment.ts'
import { nsPerMs } from '../../lib/duration.ts'

/** Begins the ids of all services that tasks have, of which the agent removes those that no task has any more. */
export const taskServicePrefix = '_muster-task-'

export type TaskCheck = InitialCheck & {
  /** What it restarts while it finds it unhealthy; null: nothing. */
  readonly restart: { readonly tasks: readonly string[]; readonly rules: RestartRules } | null
  /** The command, as its job has it, that looks inside of the task; null: it is no script. */
  readonly script: { readonly task: string; readonly words: readonly string[] } | null
  /** What the health of its allocation needs of it. */
  readonly needs: 'passing' | 'noFailure' | 'nothing'
}

export type TaskService = {
  readonly service: AgentService
  readonly checks: readonly TaskCheck[]
}

/** A service that cannot be registered as it is now. */
export type RefusedService = {
  /** As its job names it. */
  readonly name: string
  /** Whose it is. */
  readonly tasks: readonly string[]
  readonly problem: string
}

export type OfferedServices = {
  readonly services: readonly TaskService[]
  readonly refused: readonly RefusedService[]
}

export type ServicesOf = {
  readonly assigned: Assigned
  /** Where the machine is reached. */
  readonly address: string
  /** Whether the task runs, and is not about to end. */
  readonly isUp: (task: string) => boolean
  /** Of a task's environment. */
  readonly variablesOf: (task: string) => Variables
}

/** Those of tasks that run; those of the group once all of its tasks that go on do. One that is refused keeps none of the others away. */
export function taskServices(of: ServicesOf): OfferedServices {
  const { assigned, isUp } = of
  const { group } = assigned
  const lasting = group.Tasks.filter(({ Lifecycle }) => Lifecycle?.Sidecar ?? true)
  const names = lasting.map(({ Name }) => Name)
  const areUp = names.length > 0 && names.every(isUp)
  const owners: readonly Owner[] = [
    ...group.Tasks.filter(({ Name }) => isUp(Name)).map(({ Name, Services }) => {
      return { task: Name, tasks: [Name], services: Services }
    }),
    { task: null, tasks: names, services: areUp ? group.Services : [] },
  ]
  const services: TaskService[] = []
  const refused: RefusedService[] = []
  const ids = new Set<string>()
  for (const owner of owners) {
    for (const given of owner.services) {
      try {
        const one = oneService(of, given, owner, ids)
        ids.add(one.service.id)
        services.push(one)
      } catch (error) {
        refused.push({ name: given.Name, tasks: owner.tasks, problem: textOf(error) })
      }
    }
  }
  return { services, refused }
}

type Owner = {
  /** Null: the group. */
  readonly task: string | null
  readonly tasks: readonly string[]
  readonly services: readonly Service[]
}

/** A promotion changes what is registered of it. */
export function differsAsCanary({ Services, Tasks }: TaskGroup): boolean {
  return [...Services, ...Tasks.flatMap((task) => task.Services)].some(
    ({ CanaryTags, CanaryMeta }) => CanaryTags.length > 0 || Object.keys(CanaryMeta).length > 0,
  )
}

/** As it is registered for an allocation that is, or is no, canary which waits for its promotion. */
function standingOf(
  { Tags, CanaryTags, Meta, CanaryMeta }: Service,
  isCanary: boolean,
): Pick<Service, 'Tags' | 'Meta'> {
  return {
    Tags: isCanary && CanaryTags.length > 0 ? CanaryTags : Tags,
    Meta: isCanary && Object.keys(CanaryMeta).length > 0 ? CanaryMeta : Meta,
  }
}

/** Why a service cannot be registered by this version; null: it can. */
export function serviceProblem({ AddressMode, Checks }: Service): string | null {
  const modes = [AddressMode, ...Checks.map((check) => check.AddressMode)]
  const mode = modes.find((one) => one !== '' && one !== 'auto' && one !== 'host')
  return mode === undefined ? null : `has no services with the address mode ${JSON.stringify(mode)}`
}

/** `others`: ids that are taken. Throws `invalid_argument` for what the catalog does not take once its variables are replaced. */
function oneService(
  { assigned, address, variablesOf }: ServicesOf,
  given: Service,
  { task, tasks }: Owner,
  others: ReadonlySet<string>,
): TaskService {
  const variables = variablesOf(tasks[0] ?? '')
  const fill = (text: string): string => interpolated(text, variables)
  const { Tags, Meta } = standingOf(given, assigned.canary === true)
  const name = fill(given.Name)
  const label = fill(given.PortLabel)
  const place = placeOf(assigned, label, address)
  const key = serviceKey({ group: assigned.groupName, task }, { name, label })
  const id = freeId(`${taskServicePrefix}${assigned.id}-${key}`, others)
  const checked = checkService({
    id,
    name,
    tags: Tags.map(fill),
    address: given.Address === '' ? place.address : fill(given.Address),
    port: place.port,
    meta: Object.entries({ ...Meta, [sourceMetaKey]: 'muster' }).map(([key, value]) => [
      key,
      fill(value),
    ]),
    taggedAddresses: Object.entries(given.TaggedAddresses ?? {}).map(([tag, text]) => {
      const { address, port } = taggedAddress(fill(text))
      return [tag, address, port ?? place.port] as const
    }),
    weights: {
      passing: given.Weights?.Passing ?? 1,
      warning: given.Weights?.Warning ?? 1,
    },
    enableTagOverride: given.EnableTagOverride,
  })
  const service = checkReachable(checked)
  const checks = given.Checks.map((check, at) => {
    const own = check.PortLabel === '' ? place : placeOf(assigned, fill(check.PortLabel), address)
    const definition = checkDefinition({
      id: `${id}-check-${at}`.slice(-256),
      name: fill(check.Name),
      notes: '',
      serviceId: id,
      probe: probeOf(check, own, fill),
      successBeforePassing: check.SuccessBeforePassing,
      failuresBeforeWarning: check.FailuresBeforeWarning ?? check.FailuresBeforeCritical,
      failuresBeforeCritical: check.FailuresBeforeCritical,
      deregisterAfterMs: null,
    })
    const rules = restartRulesOf(check.CheckRestart)
    // A check of a group that names no task is one of all that run on.
    const restarted = check.TaskName === '' ? tasks : [check.TaskName]
    const restart = rules === null ? null : { tasks: restarted, rules }
    const script =
      definition.probe.type === 'task'
        ? { task: check.TaskName, words: [check.Command, ...check.Args] }
        : null
    return {
      definition,
      status: initialStatus(check),
      restart,
      script,
      needs: neededOf(check),
    }
  })
  return { service, checks }
}

/** Two services of a task may have one name and port. */
function freeId(wanted: string, others: ReadonlySet<string>): string {
  let id = wanted.slice(0, nameLengthMax)
  for (let number = 2; others.has(id); number += 1) {
    const end = `-${number}`
    id = wanted.slice(0, nameLengthMax - end.length) + end
  }
  return id
}

function taggedAddress(text: string) {
  const found = addressOf(text)
  if (found !== null) return found
  const what = JSON.stringify(text)
  throw invalid(`${what} in tagged_addresses is no address`)
}

function initialStatus({ InitialStatus: given }: Check): CheckStatus {
  return given === 'passing' || given === 'warning' ? given : 'critical'
}

function neededOf({ OnUpdate }: Check): TaskCheck['needs'] {
  if (OnUpdate === 'ignore') return 'nothing'
  return OnUpdate === 'ignore_warnings' ? 'noFailure' : 'passing'
}

type Place = { readonly address: string; readonly port: number }

function placeOf({ resources }: Assigned, label: string, address: string): Place {
  if (label === '') return { address, port: 0 }
  const port = resources.ports.find((one) => one.label === label)
  if (port !== undefined) return { address: port.address || address, port: port.value }
  if (/^\d{1,5}$/.test(label)) return { address, port: Number(label) }
  throw invalid(`there is no port ${JSON.stringify(label)}`)
}

function tlsOf({ TLSSkipVerify, TLSServerName }: Check) {
  return {
    tlsSkipVerify: TLSSkipVerify,
    ...(TLSServerName !== undefined && { tlsServerName: TLSServerName }),
  }
}

function probeOf(check: Check, { address, port }: Place, fill: (text: string) => string): Probe {
  const every = { intervalMs: check.Interval / nsPerMs, timeoutMs: check.Timeout / nsPerMs }
  const target = hostPort(address, port)
  switch (check.Type.toLowerCase()) {
    case 'http': {
      const scheme = check.Protocol === 'https' ? 'https' : 'http'
      const path = fill(check.Path)
      return {
        type: 'http',
        url: `${scheme}://${target}${path.startsWith('/') ? '' : '/'}${path}`,
        method: check.Method === '' ? 'GET' : check.Method.toUpperCase(),
        headers: Object.entries(check.Header).flatMap(([name, values]) =>
          values.map((value): [string, string] => [name, fill(value)]),
        ),
        body: fill(check.Body),
        ...tlsOf(check),
        followRedirects: true,
        ...every,
      }
    }
    case 'grpc':
      return {
        type: 'grpc',
        target,
        service: check.GRPCService,
        tls: check.GRPCUseTLS,
        ...tlsOf(check),
        ...every,
      }
    case 'script':
      return { type: 'task', ...every }
    default:
      return { type: 'tcp', host: address, port, ...every }
  }
}
