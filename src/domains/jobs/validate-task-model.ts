/** What is refused in a task. */
import { textOf } from '../../lib/errors.ts'
import { isLinuxSignal } from '../../lib/signal-name.ts'
import { parseTaskTemplate } from '../../lib/template/task-template.ts'
import type { JobSpec, TaskGroup } from './model.ts'
import { artifactModes, planOfArtifact } from './artifact-model.ts'
import type { Problems } from './problem-model.ts'
import {
  isTaskFolderName,
  memoryNoLimit,
  taskNameBytesMax,
  type Artifact,
  type Task,
  type Template,
  type VolumeMount,
} from './task-model.ts'
import { checkAffinity, checkConstraint } from './validate-placement-model.ts'
import { checkNotNegative, checkOneOf, checkRestart } from './validate-rules-model.ts'

const memoryMin = 10
const hooks = ['prestart', 'poststart', 'poststop']
const changeModes = ['noop', 'restart', 'signal', 'script']
const second = 1e9
const propagationModes = ['private', 'host-to-task', 'bidirectional']

export function checkTask(
  task: Task,
  place: { readonly path: string; readonly job: JobSpec; readonly group: TaskGroup },
  problems: Problems,
): void {
  const { path, job, group } = place
  checkName(task.Name, `${path}.Name`, problems)
  if (task.Driver === '') problems.add(`${path}.Driver`, 'is missing: name one, as docker or exec')
  checkSignal(task.KillSignal, `${path}.KillSignal`, problems)
  checkNotNegative(task.KillTimeout, `${path}.KillTimeout`, problems)
  checkNotNegative(task.ShutdownDelay, `${path}.ShutdownDelay`, problems)
  if (task.Lifecycle !== null) {
    checkOneOf(task.Lifecycle.Hook, hooks, `${path}.Lifecycle.Hook`, problems)
  }
  for (const [index, constraint] of task.Constraints.entries()) {
    checkConstraint(constraint, `${path}.Constraints[${index}]`, problems, true)
  }
  if (job.Type === 'system') {
    if (task.Affinities.length > 0) problems.add(`${path}.Affinities`, notOfSystem)
  } else {
    for (const [index, affinity] of task.Affinities.entries()) {
      checkAffinity(affinity, `${path}.Affinities[${index}]`, problems)
    }
  }
  checkResources(task, path, problems)
  checkLogs(task, group, path, problems)
  checkRestart(task.RestartPolicy, `${path}.RestartPolicy`, problems)
  for (const [index, artifact] of task.Artifacts.entries()) {
    checkArtifact(artifact, `${path}.Artifacts[${index}]`, problems)
  }
  checkTemplates(task.Templates, `${path}.Templates`, problems)
  for (const [index, mount] of task.VolumeMounts.entries()) {
    checkMount(mount, group, `${path}.VolumeMounts[${index}]`, problems)
  }
  if (task.DispatchPayload !== null) {
    const { File } = task.DispatchPayload
    checkDestination(`local/${File}`, File, `${path}.DispatchPayload.File`, problems)
  }
}

function checkName(name: string, path: string, problems: Problems): void {
  if (/[/\\\0]/.test(name)) {
    problems.add(path, 'must have no slash: it is the name of a folder')
  } else if (name !== '' && !isTaskFolderName(name)) {
    problems.add(path, `${JSON.stringify(name)} is the name of another folder of the allocation`)
  }
  if (Buffer.byteLength(name) > taskNameBytesMax) {
    problems.add(path, `must take at most ${taskNameBytesMax} bytes: it is the name of a folder`)
  }
}

/** Empty: that of its driver. */
function checkSignal(name: string, path: string, problems: Problems): void {
  if (name === '' || isLinuxSignal(name)) return
  problems.add(path, `${JSON.stringify(name.slice(0, 64))} is no signal: name one, as SIGINT`)
}

export const notOfSystem = 'has no meaning in a system job, which runs on every node'

function checkResources({ Resources }: Task, path: string, problems: Problems): void {
  const { CPU, MemoryMB, MemoryMaxMB = MemoryMB } = Resources
  if (CPU < 1) problems.add(`${path}.Resources.CPU`, 'must be at least 1 MHz')
  if (MemoryMB < memoryMin) {
    problems.add(`${path}.Resources.MemoryMB`, `must be at least ${memoryMin}`)
  }
  if (MemoryMaxMB !== memoryNoLimit && MemoryMaxMB < MemoryMB) {
    const text = `must be at least MemoryMB, which is ${MemoryMB}, or ${memoryNoLimit} for no limit`
    problems.add(`${path}.Resources.MemoryMaxMB`, text)
  }
}

function checkLogs({ LogConfig }: Task, group: TaskGroup, path: string, problems: Problems): void {
  const { MaxFiles, MaxFileSizeMB } = LogConfig
  if (MaxFiles < 1) problems.add(`${path}.LogConfig.MaxFiles`, 'must be at least 1')
  if (MaxFileSizeMB < 1) problems.add(`${path}.LogConfig.MaxFileSizeMB`, 'must be at least 1')
  const total = MaxFiles * MaxFileSizeMB
  const { SizeMB } = group.EphemeralDisk
  if (total > SizeMB) {
    problems.add(
      `${path}.LogConfig`,
      `takes up to ${total} MB, more than the group's EphemeralDisk.SizeMB of ${SizeMB}`,
    )
  }
}

function checkArtifact(artifact: Artifact, path: string, problems: Problems): void {
  const { GetterSource, GetterOptions } = artifact
  if (GetterSource === '') problems.add(`${path}.GetterSource`, 'is missing')
  // What is known only where the task runs is looked at there.
  else if (![GetterSource, ...Object.values(GetterOptions)].some((text) => text.includes('${'))) {
    try {
      planOfArtifact(artifact)
    } catch (error) {
      problems.add(`${path}.GetterSource`, textOf(error))
    }
  }
  checkOneOf(artifact.GetterMode, artifactModes, `${path}.GetterMode`, problems)
  checkDestination(artifact.RelativeDest, artifact.RelativeDest, `${path}.RelativeDest`, problems)
}

function checkTemplates(templates: readonly Template[], path: string, problems: Problems): void {
  const destinations = new Map<string, number>()
  for (const [index, template] of templates.entries()) {
    const at = `${path}[${index}]`
    const { DestPath, Perms } = template
    if (template.SourcePath === '' && template.EmbeddedTmpl === '') {
      problems.add(`${at}.EmbeddedTmpl`, 'is missing, and so is SourcePath: give one of them')
    }
    checkDestination(DestPath, DestPath, `${at}.DestPath`, problems)
    const other = destinations.get(DestPath)
    if (DestPath !== '' && other !== undefined) {
      problems.add(`${at}.DestPath`, `is that of template ${other} already`)
    }
    destinations.set(DestPath, other ?? index)
    checkOneOf(template.ChangeMode, changeModes, `${at}.ChangeMode`, problems)
    checkSignal(template.ChangeSignal, `${at}.ChangeSignal`, problems)
    if (template.ChangeMode === 'signal') {
      if (template.ChangeSignal === '') {
        problems.add(`${at}.ChangeSignal`, 'is missing: name one, as SIGHUP')
      }
      if (template.Envvars) {
        problems.add(
          `${at}.ChangeMode`,
          'must be restart or noop: no signal changes an environment',
        )
      }
    }
    checkChangeScript(template, at, problems)
    const { Min = 0, Max = 0 } = template.Wait ?? {}
    if (Min < 0 || Max < Min)
      problems.add(`${at}.Wait`, 'must have a Min of 0 or more, and no lower Max')
    for (const name of ['Uid', 'Gid'] as const) {
      if ((template[name] ?? 0) >= 0) continue
      problems.add(`${at}.${name}`, 'must be the number of a user or a group, or -1')
    }
    checkNotNegative(template.Splay, `${at}.Splay`, problems)
    if (Perms !== '' && !/^[0-7]{1,4}$/.test(Perms)) {
      problems.add(`${at}.Perms`, 'must be octal digits, as 0644')
    }
    if (template.LeftDelim === '' || template.RightDelim === '') {
      problems.add(`${at}.LeftDelim`, 'and RightDelim must not be empty')
    } else if (template.EmbeddedTmpl !== '') checkEmbedded(template, `${at}.EmbeddedTmpl`, problems)
  }
}

function checkChangeScript(
  { ChangeMode, ChangeScript }: Template,
  path: string,
  problems: Problems,
) {
  if (ChangeMode !== 'script') return
  if (ChangeScript === undefined || ChangeScript.Command === '') {
    problems.add(`${path}.ChangeScript.Command`, 'is missing: ChangeMode script runs it')
  }
  if (ChangeScript !== undefined && ChangeScript.Timeout < second) {
    problems.add(`${path}.ChangeScript.Timeout`, 'must be at least 1s')
  }
}

/** What is in a file is read where the task runs. */
function checkEmbedded(template: Template, path: string, problems: Problems): void {
  const { EmbeddedTmpl, LeftDelim: left, RightDelim: right } = template
  try {
    parseTaskTemplate(EmbeddedTmpl, { left, right }, 'cannot be rendered')
  } catch (error) {
    problems.add(path, textOf(error))
  }
}

function checkMount(mount: VolumeMount, group: TaskGroup, path: string, problems: Problems): void {
  if (!Object.hasOwn(group.Volumes, mount.Volume)) {
    problems.add(`${path}.Volume`, 'must be a volume of the group')
  }
  if (mount.Destination === '') problems.add(`${path}.Destination`, 'is missing')
  checkOneOf(mount.PropagationMode, propagationModes, `${path}.PropagationMode`, problems)
}

/** Relative to the folder of the task, and within that of the allocation, one above. */
function checkDestination(inTask: string, written: string, path: string, problems: Problems): void {
  if (written === '') {
    problems.add(path, 'is missing')
    return
  }
  let depth = 1
  for (const part of inTask.split('/')) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) {
      problems.add(path, 'must not lead out of the folder of the allocation')
      return
    }
  }
}
