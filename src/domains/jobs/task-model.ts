/** A task: the one thing that a driver runs, with what it is given before and while it runs. */
import { Type, type Static } from 'typebox'
import { Network, Service } from './network-model.ts'
import { Affinity, Constraint } from './placement-model.ts'
import { Restart } from './rules-model.ts'
import {
  block,
  Duration,
  Flag,
  later,
  list,
  map,
  orNull,
  Text,
  TextMap,
  Texts,
  Whole,
  Word,
} from './schema-model.ts'

/** The folder that the tasks of an allocation share, and that of drivers. Each task has one of its own beside them, by its name. */
export const sharedFolderName = 'alloc'
export const runFolderName = '.run'
/** Bytes of a task's name, which is a part of names of files. */
export const taskNameBytesMax = 200

/** Whether a folder beside those may have that name. */
export function isTaskFolderName(name: string): boolean {
  return !/[/\0]/.test(name) && !['', '.', '..', sharedFolderName, runFolderName].includes(name)
}

/** As `MemoryMaxMB`: as much as the machine has. */
export const memoryNoLimit = -1

export const Resources = block('JobResources', {
  CPU: Whole,
  MemoryMB: Whole,
  MemoryMaxMB: later(Whole),
  DiskMB: Whole,
  Networks: list(Network),
})
export type Resources = Readonly<Static<typeof Resources>>

export const LogConfig = block('JobLogConfig', { MaxFiles: Whole, MaxFileSizeMB: Whole })
export type LogConfig = Readonly<Static<typeof LogConfig>>

const ChangeScript = block('JobChangeScript', {
  Command: Text,
  Args: Texts,
  Timeout: Duration,
  FailOnError: Flag,
})
export type ChangeScript = Readonly<Static<typeof ChangeScript>>

const TemplateWait = block('JobTemplateWait', { Min: Duration, Max: Duration })
export type TemplateWait = Readonly<Static<typeof TemplateWait>>

export const Template = block('JobTemplate', {
  SourcePath: Text,
  DestPath: Text,
  EmbeddedTmpl: Text,
  ChangeMode: Word,
  ChangeSignal: Word,
  ChangeScript: later(ChangeScript),
  Splay: Duration,
  Perms: Word,
  LeftDelim: Word,
  RightDelim: Word,
  Envvars: Flag,
  Once: later(Flag),
  Wait: later(TemplateWait),
  Uid: later(Whole),
  Gid: later(Whole),
})
export type Template = Readonly<Static<typeof Template>>

export const Artifact = block('JobArtifact', {
  GetterSource: Text,
  GetterOptions: TextMap,
  GetterHeaders: TextMap,
  GetterMode: Word,
  GetterInsecure: later(Flag),
  RelativeDest: Text,
  Chown: later(Flag),
})
export type Artifact = Readonly<Static<typeof Artifact>>

const Lifecycle = block('JobLifecycle', { Hook: Word, Sidecar: Flag })

export const VolumeMount = block('JobVolumeMount', {
  Volume: Word,
  Destination: Text,
  ReadOnly: Flag,
  PropagationMode: Word,
})
export type VolumeMount = Readonly<Static<typeof VolumeMount>>

export const Task = block('JobTask', {
  Name: Word,
  Driver: Word,
  User: Word,
  /** Whatever the driver takes. */
  Config: map(Type.Unknown()),
  Env: TextMap,
  Meta: TextMap,
  Lifecycle: orNull(Lifecycle),
  Leader: Flag,
  KillTimeout: Duration,
  KillSignal: Word,
  ShutdownDelay: Duration,
  Constraints: list(Constraint),
  Affinities: list(Affinity),
  Resources,
  RestartPolicy: Restart,
  LogConfig,
  Services: list(Service),
  Artifacts: list(Artifact),
  Templates: list(Template),
  VolumeMounts: list(VolumeMount),
  DispatchPayload: orNull(block('JobDispatchPayload', { File: Text })),
})
export type Task = Readonly<Static<typeof Task>>
