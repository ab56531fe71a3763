/**
 * Members of a job that came after the first jobs. A job has one only where it asks for it: programs of before read all other jobs,
 * and none of its versions differs from another by a default.
 */
import type { JobSpec, TaskGroup } from './model.ts'
import type { Service } from './network-model.ts'
import type { Task } from './task-model.ts'

/** The command version of the first programs that know them. */
export const laterMembersVersion = 12

/** The command version of the first programs that all know them: to those of 12 some were still added. */
export const settledMembersVersion = 13

/** The command version of the first programs that make deployments of system jobs, and change what one under way wants. */
export const systemDeploymentsVersion = 15

/** Attribute of nodes: the newest members that their agents know, by the command version that brought them. */
export const jobMembersAttribute = 'muster.jobs'

/** Those that ask for something: clients in Go send what nobody set as empty. */
export function asked<
  Members extends Readonly<Record<string, string | number | boolean | undefined>>,
>(members: Members): { readonly [Name in keyof Members]?: NonNullable<Members[Name]> } {
  const given = Object.entries(members).filter(([, value]) => Boolean(value))
  return Object.fromEntries(given) as {
    readonly [Name in keyof Members]?: NonNullable<Members[Name]>
  }
}

/** The paths of the members that a job has. */
export function laterMembersOf({ TaskGroups }: JobSpec): readonly string[] {
  return TaskGroups.flatMap((group, at) => {
    return laterMembersOfGroup(group).map((path) => `TaskGroups[${at}].${path}`)
  })
}

/** The paths of the members by which a system job asks more of its deployments than steps of `MaxParallel`. */
export function systemDeploymentMembersOf({ Type, TaskGroups }: JobSpec): readonly string[] {
  if (Type !== 'system') return []
  return TaskGroups.flatMap(({ Update }, at) => {
    if (Update === null) return []
    const names = (['Canary', 'AutoRevert', 'AutoPromote'] as const).filter((name) => Update[name])
    return names.map((name) => `TaskGroups[${at}].Update.${name}`)
  })
}

/** From the group. */
export function laterMembersOfGroup(group: TaskGroup): readonly string[] {
  const { Services, Tasks } = group
  return [
    ...(group.Disconnect === undefined ? [] : ['Disconnect']),
    ...ofServices(Services, ''),
    ...Tasks.flatMap((task, at) => ofTask(task, `Tasks[${at}].`)),
  ]
}

function ofTask(task: Task, path: string): readonly string[] {
  return [
    ...present(task.Resources, ['MemoryMaxMB'], `${path}Resources`),
    ...ofEach(task.Artifacts, ['GetterInsecure', 'Chown'], `${path}Artifacts`),
    ...ofEach(task.Templates, ['ChangeScript', 'Once', 'Wait', 'Uid', 'Gid'], `${path}Templates`),
    ...ofServices(task.Services, path),
  ]
}

function ofServices(services: readonly Service[], path: string): readonly string[] {
  const ofCheck = ['TLSServerName', 'FailuresBeforeWarning'] as const
  return services.flatMap((service, at) => [
    ...present(service, ['TaggedAddresses', 'Weights'], `${path}Services[${at}]`),
    ...ofEach(service.Checks, ofCheck, `${path}Services[${at}].Checks`),
  ])
}

function ofEach<Part extends object>(
  parts: readonly Part[],
  names: readonly (keyof Part & string)[],
  path: string,
): readonly string[] {
  return parts.flatMap((part, at) => present(part, names, `${path}[${at}]`))
}

function present<Part extends object>(
  part: Part,
  names: readonly (keyof Part & string)[],
  path: string,
): readonly string[] {
  return names.filter((name) => part[name] !== undefined).map((name) => `${path}.${name}`)
}
