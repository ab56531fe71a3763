/**
 * What a task is told: its environment, and the values of `${…}` in its configuration. Pure.
 *
 * Of the agent's own environment a task gets what programs need to be found and to speak the user's language, for the rest may hold
 * secrets of the agent.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import { askedMemoryMax } from '../../domains/allocations/model.ts'
import type { Task } from '../../domains/jobs/task-model.ts'
import type { NodeSpec } from '../../domains/nodes/model.ts'
import { hostPort } from '../../lib/host-port.ts'
import { foldersInRoot, type Root } from '../drivers/driver.ts'
import type { TaskFolders } from './task-folders.ts'

const ofMachine = ['PATH', 'LANG', 'LC_ALL', 'TZ'] as const
const ofUser = ['HOME', 'USER', 'LOGNAME', 'SHELL'] as const
const passedOn = { machine: [...ofMachine, ...ofUser], own: ofMachine, image: [] } as const
/** Of lists and maps within one another in a driver's configuration. */
const depthMax = 16

/** Of the machine. */
export type NodeFacts = {
  readonly id: string
  readonly region: string
  /** Where others reach it. */
  readonly address: string
  readonly spec: Pick<
    NodeSpec,
    'name' | 'datacenter' | 'nodeClass' | 'attributes' | 'meta' | 'hostVolumes'
  >
  /** Of the agent. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

export type Variables = ReadonlyMap<string, string>

export type TaskEnvironment = {
  readonly env: Readonly<Record<string, string>>
  /** By what stands between the braces. */
  readonly variables: Variables
}

type TaskOf = {
  readonly assigned: Assigned
  readonly task: Task
  readonly facts: NodeFacts
  readonly folders: TaskFolders
  readonly root: Root
  /** What its templates add, which goes before all but what the agent finds it by. */
  readonly more?: ReadonlyMap<string, string>
}

export function environmentOf(of: TaskOf): TaskEnvironment {
  const { facts, task, root } = of
  const env = new Map<string, string>()
  for (const name of passedOn[root]) {
    const value = facts.environment[name]
    if (value !== undefined) env.set(name, value)
  }
  const about = [...ownNames(of), ...ports(of), ...metaOf(of)]
  for (const [name, value] of about) env.set(`NOMAD_${name}`, value)
  for (const [name, value] of about) env.set(`MUSTER_${name}`, value)
  const variables = new Map([...nodeVariables(facts), ...env])
  const own = new Map([
    ...Object.entries(task.Env).map(
      ([name, value]) => [interpolated(name, variables), interpolated(value, variables)] as const,
    ),
    ...(of.more ?? []),
  ])
  for (const [name, value] of own) env.set(cleanName(name), value)
  // The agent finds its tasks by these.
  env.set('MUSTER_ALLOC_ID', of.assigned.id)
  env.set('MUSTER_TASK_NAME', task.Name)
  for (const [name, value] of [...own, ...env]) variables.set(name, value)
  return { env: Object.fromEntries(env), variables }
}

/** As Nomad has it: letters, digits but for the first place, dots and underscores; each other byte is an underscore. */
function cleanName(name: string): string {
  return Buffer.from(name)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9_.]|^[0-9]/g, '_')
}

/** A variable that is not known stays as it is: it may be for the program. */
export function interpolated(text: string, variables: Variables): string {
  return text.replace(
    /\$\{(?:(env|attr|meta)\["([^"\]]+)"\]|([\w.-]+))\}/g,
    (whole: string, kind?: string, quoted?: string, plain?: string) => {
      const name = plain ?? (kind === 'env' ? quoted : `${kind}.${quoted}`)
      const key = name?.startsWith('env.') === true ? name.slice('env.'.length) : name
      return (key === undefined ? undefined : variables.get(key)) ?? whole
    },
  )
}

/** The texts within a driver's configuration. */
export function interpolatedConfig(
  config: Readonly<Record<string, unknown>>,
  variables: Variables,
): Record<string, unknown> {
  const valueOf = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return interpolated(value, variables)
    if (typeof value !== 'object' || value === null || depth > depthMax) return value
    if (Array.isArray(value)) return value.map((item) => valueOf(item, depth + 1))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, valueOf(member, depth + 1)]),
    )
  }
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, valueOf(value, 1)]),
  )
}

function ownNames({ assigned, task, facts, folders, root }: TaskOf): readonly [string, string][] {
  const { shared, local, secrets } = root === 'machine' ? folders : foldersInRoot
  const { id, name, jobId, jobName, parentId, groupName, namespace, resources } = assigned
  const own = resources.tasks.find((part) => part.task === task.Name)
  const { CPU, MemoryMB } = task.Resources
  return [
    ['ALLOC_DIR', shared],
    ['TASK_DIR', local],
    ['SECRETS_DIR', secrets],
    ['MEMORY_LIMIT', String(own?.memoryMb ?? MemoryMB)],
    ...(own?.memoryMaxMb === undefined
      ? []
      : [['MEMORY_MAX_LIMIT', String(askedMemoryMax(own))] satisfies [string, string]]),
    ['CPU_LIMIT', String(own?.cpuMhz ?? CPU)],
    ['ALLOC_ID', id],
    ['SHORT_ALLOC_ID', id.slice(0, 8)],
    ['ALLOC_NAME', name],
    ['ALLOC_INDEX', /\[(\d+)\]$/.exec(name)?.[1] ?? '0'],
    ['TASK_NAME', task.Name],
    ['GROUP_NAME', groupName],
    ['JOB_ID', jobId],
    ['JOB_NAME', jobName],
    ...(parentId === undefined ? [] : [['JOB_PARENT_ID', parentId] satisfies [string, string]]),
    ['NAMESPACE', namespace],
    ['REGION', assigned.region],
    ['DC', facts.spec.datacenter],
  ]
}

function ports({ assigned }: TaskOf): readonly [string, string][] {
  return assigned.resources.ports.flatMap(({ label, value, to, address }): [string, string][] => {
    const name = label.replaceAll(/[^A-Za-z0-9_]/g, '_')
    // As at Nomad whatever the driver, also where the task has no network of its own that the port could be mapped into.
    const within = String(to > 0 ? to : value)
    return [
      [`IP_${name}`, address],
      [`PORT_${name}`, within],
      [`ADDR_${name}`, hostPort(address, value)],
      [`HOST_IP_${name}`, address],
      [`HOST_PORT_${name}`, String(value)],
      [`HOST_ADDR_${name}`, hostPort(address, value)],
      [`ALLOC_PORT_${name}`, within],
    ]
  })
}

/** What the task says goes before what its group says, and that before the job's. */
function metaOf({ assigned, task }: TaskOf): readonly [string, string][] {
  const meta = { ...assigned.jobMeta, ...assigned.group.Meta, ...task.Meta }
  return Object.entries(meta).flatMap(([key, value]): [string, string][] => {
    const name = key.replaceAll(/[^A-Za-z0-9_]/g, '_')
    return [
      [`META_${name}`, value],
      [`META_${name.toUpperCase()}`, value],
    ]
  })
}

function nodeVariables({ id, region, spec }: NodeFacts): readonly [string, string][] {
  return [
    ['node.unique.id', id],
    ['node.unique.name', spec.name],
    ['node.datacenter', spec.datacenter],
    ['node.region', region],
    ['node.class', spec.nodeClass],
    ...spec.attributes.map(([name, value]): [string, string] => [`attr.${name}`, value]),
    ...spec.meta.map(([name, value]): [string, string] => [`meta.${name}`, value]),
  ]
}
