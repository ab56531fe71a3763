/** Defaults of a task. */
import { affinityWithDefaults, constraintWithDefaults } from './placement-defaults-model.ts'
import type { Draft } from './draft-model.ts'
import { asked } from './later-model.ts'
import { networkWithDefaults, serviceWithDefaults } from './network-defaults-model.ts'
import type { Restart } from './rules-model.ts'
import type {
  Artifact,
  ChangeScript,
  LogConfig,
  Task,
  Template,
  TemplateWait,
  VolumeMount,
} from './task-model.ts'

const killTimeout = 5e9
const logDefaults: LogConfig = { MaxFiles: 10, MaxFileSizeMB: 10 }

/** `restart`: of its group. `prefix`: of the names of services. */
export function taskWithDefaults(
  draft: Draft<Task>,
  group: { readonly restart: Restart; readonly prefix: string },
): Task {
  const name = draft.Name ?? ''
  const lifecycle = draft.Lifecycle
  return {
    Name: name,
    Driver: draft.Driver ?? '',
    User: draft.User ?? '',
    Config: draft.Config ?? {},
    Env: draft.Env ?? {},
    Meta: draft.Meta ?? {},
    Lifecycle: lifecycle === undefined ? null : { Hook: '', Sidecar: false, ...lifecycle },
    Leader: draft.Leader ?? false,
    KillTimeout: draft.KillTimeout ?? killTimeout,
    KillSignal: draft.KillSignal ?? '',
    ShutdownDelay: draft.ShutdownDelay ?? 0,
    Constraints: (draft.Constraints ?? []).map(constraintWithDefaults),
    Affinities: (draft.Affinities ?? []).map(affinityWithDefaults),
    Resources: {
      CPU: draft.Resources?.CPU ?? 100,
      MemoryMB: draft.Resources?.MemoryMB ?? 300,
      ...asked({ MemoryMaxMB: draft.Resources?.MemoryMaxMB }),
      DiskMB: draft.Resources?.DiskMB ?? 0,
      Networks: (draft.Resources?.Networks ?? []).map(networkWithDefaults),
    },
    RestartPolicy: { ...group.restart, ...draft.RestartPolicy },
    LogConfig: { ...logDefaults, ...draft.LogConfig },
    Services: (draft.Services ?? []).map((service) =>
      serviceWithDefaults(service, { name: `${group.prefix}-${name}`, task: name }),
    ),
    Artifacts: (draft.Artifacts ?? []).map(artifactWithDefaults),
    Templates: (draft.Templates ?? []).map(templateWithDefaults),
    VolumeMounts: (draft.VolumeMounts ?? []).map(mountWithDefaults),
    DispatchPayload:
      draft.DispatchPayload === undefined ? null : { File: '', ...draft.DispatchPayload },
  }
}

function artifactWithDefaults(draft: Draft<Artifact>): Artifact {
  const source = draft.GetterSource ?? ''
  const mode = draft.GetterMode === undefined || draft.GetterMode === '' ? 'any' : draft.GetterMode
  return {
    GetterSource: source,
    GetterOptions: draft.GetterOptions ?? {},
    GetterHeaders: draft.GetterHeaders ?? {},
    GetterMode: mode,
    ...asked({ GetterInsecure: draft.GetterInsecure, Chown: draft.Chown }),
    RelativeDest:
      draft.RelativeDest ??
      (mode === 'file' ? `local/${source.slice(source.lastIndexOf('/') + 1)}` : 'local/'),
  }
}

function templateWithDefaults({
  ChangeScript,
  Once,
  Wait,
  Uid = -1,
  Gid = -1,
  ...draft
}: Draft<Template>): Template {
  const mode = draft.ChangeMode ?? 'restart'
  return {
    SourcePath: '',
    DestPath: '',
    EmbeddedTmpl: '',
    Splay: 5e9,
    Perms: '0644',
    LeftDelim: '{{',
    RightDelim: '}}',
    Envvars: false,
    ...draft,
    ChangeMode: mode,
    ChangeSignal: (draft.ChangeSignal ?? (mode === 'signal' ? 'SIGHUP' : '')).toUpperCase(),
    ...(ChangeScript !== undefined && { ChangeScript: changeScriptWithDefaults(ChangeScript) }),
    ...asked({ Once }),
    ...(Wait !== undefined && { Wait: waitWithDefaults(Wait) }),
    ...(Uid !== -1 && { Uid }),
    ...(Gid !== -1 && { Gid }),
  }
}

/** As Nomad's template engine has it. */
const waitFactor = 4

function waitWithDefaults({ Min = 0, Max = Min * waitFactor }: Draft<TemplateWait>): TemplateWait {
  return { Min, Max }
}

function changeScriptWithDefaults(draft: Draft<ChangeScript>): ChangeScript {
  return { Command: '', Args: [], Timeout: 5e9, FailOnError: false, ...draft }
}

function mountWithDefaults(draft: Draft<VolumeMount>): VolumeMount {
  return { Volume: '', Destination: '', ReadOnly: false, PropagationMode: 'private', ...draft }
}
