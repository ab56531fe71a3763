/** The blocks of a job file, from the innermost to the job. */
import {
  migrate,
  placement,
  reschedule,
  restart,
  scaling,
  spreads,
  update,
} from './hcl-rules-model.ts'
import type { BlockShape, Members } from './hcl-shape-model.ts'

const port: BlockShape = {
  title: 'JobPort',
  label: 'Label',
  attributes: {
    static: ['Value', 'whole'],
    to: ['To', 'whole'],
    host_network: ['HostNetwork', 'text'],
  },
  refused: { ignore_collision: 'IgnoreCollision' },
}

const network: BlockShape = {
  title: 'JobNetwork',
  attributes: {
    mode: ['Mode', 'text'],
    device: ['Device', 'text'],
    cidr: ['CIDR', 'text'],
    ip: ['IP', 'text'],
    mbits: ['MBits', 'whole'],
  },
  blocks: {
    port: { member: 'Ports', shape: port, as: 'many' },
  },
  refused: { cni: 'CNI', dns: 'DNS', hostname: 'Hostname' },
  finish: ({ Ports, ...members }) => {
    const ports: readonly unknown[] = Array.isArray(Ports) ? Ports : []
    const reserved = ports.filter(isStatic)
    const dynamic = ports.filter((one) => !isStatic(one))
    return { ...members, ReservedPorts: reserved, DynamicPorts: dynamic }
  },
}

function isStatic(port: unknown): boolean {
  return typeof port === 'object' && port !== null && 'Value' in port && port.Value !== 0
}

const checkRestart: BlockShape = {
  attributes: {
    limit: ['Limit', 'whole'],
    grace: ['Grace', 'duration'],
    ignore_warnings: ['IgnoreWarnings', 'flag'],
  },
}

const check: BlockShape = {
  title: 'JobCheck',
  attributes: {
    name: ['Name', 'text'],
    type: ['Type', 'text'],
    command: ['Command', 'text'],
    args: ['Args', 'texts'],
    path: ['Path', 'text'],
    protocol: ['Protocol', 'text'],
    port: ['PortLabel', 'text'],
    address_mode: ['AddressMode', 'text'],
    interval: ['Interval', 'duration'],
    timeout: ['Timeout', 'duration'],
    initial_status: ['InitialStatus', 'text'],
    tls_skip_verify: ['TLSSkipVerify', 'flag'],
    tls_server_name: ['TLSServerName', 'text'],
    method: ['Method', 'text'],
    body: ['Body', 'text'],
    grpc_service: ['GRPCService', 'text'],
    grpc_use_tls: ['GRPCUseTLS', 'flag'],
    task: ['TaskName', 'text'],
    success_before_passing: ['SuccessBeforePassing', 'whole'],
    failures_before_critical: ['FailuresBeforeCritical', 'whole'],
    failures_before_warning: ['FailuresBeforeWarning', 'whole'],
    on_update: ['OnUpdate', 'text'],
  },
  maps: { header: ['Header', 'textsMap'] },
  blocks: { check_restart: { member: 'CheckRestart', shape: checkRestart, as: 'one' } },
  refused: { expose: 'Expose', advertise: 'Advertise' },
}

const service: BlockShape = {
  title: 'JobService',
  attributes: {
    name: ['Name', 'text'],
    provider: ['Provider', 'text'],
    tags: ['Tags', 'texts'],
    canary_tags: ['CanaryTags', 'texts'],
    enable_tag_override: ['EnableTagOverride', 'flag'],
    port: ['PortLabel', 'text'],
    address_mode: ['AddressMode', 'text'],
    address: ['Address', 'text'],
    task: ['TaskName', 'text'],
    on_update: ['OnUpdate', 'text'],
  },
  maps: {
    meta: ['Meta', 'textMap'],
    canary_meta: ['CanaryMeta', 'textMap'],
    tagged_addresses: ['TaggedAddresses', 'textMap'],
  },
  blocks: {
    check: { member: 'Checks', shape: check, as: 'many' },
    weights: {
      member: 'Weights',
      shape: { attributes: { passing: ['Passing', 'whole'], warning: ['Warning', 'whole'] } },
      as: 'one',
    },
    check_restart: { member: 'CheckRestart', shape: checkRestart, as: 'one' },
  },
  refused: {
    connect: 'Connect',
    kind: 'Kind',
    identity: 'Identity',
  },
}

const changeScript: BlockShape = {
  attributes: {
    command: ['Command', 'text'],
    args: ['Args', 'texts'],
    timeout: ['Timeout', 'duration'],
    fail_on_error: ['FailOnError', 'flag'],
  },
}

const template: BlockShape = {
  title: 'JobTemplate',
  attributes: {
    source: ['SourcePath', 'text'],
    destination: ['DestPath', 'text'],
    data: ['EmbeddedTmpl', 'text'],
    change_mode: ['ChangeMode', 'text'],
    change_signal: ['ChangeSignal', 'text'],
    splay: ['Splay', 'duration'],
    perms: ['Perms', 'text'],
    left_delimiter: ['LeftDelim', 'text'],
    right_delimiter: ['RightDelim', 'text'],
    env: ['Envvars', 'flag'],
    once: ['Once', 'flag'],
    uid: ['Uid', 'whole'],
    gid: ['Gid', 'whole'],
  },
  blocks: {
    change_script: { member: 'ChangeScript', shape: changeScript, as: 'one' },
    wait: {
      member: 'Wait',
      shape: { attributes: { min: ['Min', 'duration'], max: ['Max', 'duration'] } },
      as: 'one',
    },
  },
  refused: { error_on_missing_key: 'ErrMissingKey' },
}

const artifact: BlockShape = {
  title: 'JobArtifact',
  attributes: {
    source: ['GetterSource', 'text'],
    destination: ['RelativeDest', 'text'],
    mode: ['GetterMode', 'text'],
    insecure: ['GetterInsecure', 'flag'],
    chown: ['Chown', 'flag'],
  },
  maps: { options: ['GetterOptions', 'textMap'], headers: ['GetterHeaders', 'textMap'] },
}

const resources: BlockShape = {
  title: 'JobResources',
  attributes: {
    cpu: ['CPU', 'whole'],
    memory: ['MemoryMB', 'whole'],
    memory_max: ['MemoryMaxMB', 'whole'],
    disk: ['DiskMB', 'whole'],
  },
  blocks: { network: { member: 'Networks', shape: network, as: 'many' } },
  refused: {
    device: 'Devices',
    cores: 'Cores',
    numa: 'NUMA',
    secrets: 'SecretsMB',
  },
}

const volumeMount: BlockShape = {
  attributes: {
    volume: ['Volume', 'text'],
    destination: ['Destination', 'text'],
    read_only: ['ReadOnly', 'flag'],
    propagation_mode: ['PropagationMode', 'text'],
  },
}

const task: BlockShape = {
  title: 'JobTask',
  label: 'Name',
  attributes: {
    driver: ['Driver', 'text'],
    user: ['User', 'text'],
    leader: ['Leader', 'flag'],
    kill_timeout: ['KillTimeout', 'duration'],
    kill_signal: ['KillSignal', 'text'],
    shutdown_delay: ['ShutdownDelay', 'duration'],
  },
  maps: {
    config: ['Config', 'config'],
    env: ['Env', 'textMap'],
    meta: ['Meta', 'textMap'],
  },
  blocks: {
    ...placement,
    artifact: { member: 'Artifacts', shape: artifact, as: 'many' },
    dispatch_payload: {
      member: 'DispatchPayload',
      shape: { attributes: { file: ['File', 'text'] } },
      as: 'one',
    },
    lifecycle: {
      member: 'Lifecycle',
      shape: { attributes: { hook: ['Hook', 'text'], sidecar: ['Sidecar', 'flag'] } },
      as: 'one',
    },
    logs: {
      member: 'LogConfig',
      shape: {
        title: 'JobLogConfig',
        attributes: {
          max_files: ['MaxFiles', 'whole'],
          max_file_size: ['MaxFileSizeMB', 'whole'],
        },
        refused: { disabled: 'Disabled' },
      },
      as: 'one',
    },
    resources: { member: 'Resources', shape: resources, as: 'one' },
    restart: { member: 'RestartPolicy', shape: restart, as: 'one' },
    service: { member: 'Services', shape: service, as: 'many' },
    template: { member: 'Templates', shape: template, as: 'many' },
    volume_mount: { member: 'VolumeMounts', shape: volumeMount, as: 'many' },
  },
  refused: {
    vault: 'Vault',
    secret: 'Secrets',
    consul: 'Consul',
    csi_plugin: 'CSIPluginConfig',
    kind: 'Kind',
    scaling: 'ScalingPolicies',
    identity: 'Identities',
    action: 'Actions',
    schedule: 'Schedule',
  },
}

const volume: BlockShape = {
  title: 'JobVolume',
  label: 'Name',
  attributes: {
    type: ['Type', 'text'],
    source: ['Source', 'text'],
    read_only: ['ReadOnly', 'flag'],
  },
  refused: {
    per_alloc: 'PerAlloc',
    mount_options: 'MountOptions',
    sticky: 'Sticky',
    access_mode: 'AccessMode',
    attachment_mode: 'AttachmentMode',
  },
}

const disconnect: BlockShape = {
  attributes: {
    lost_after: ['LostAfter', 'duration'],
    stop_on_client_after: ['StopOnClientAfter', 'duration'],
    replace: ['Replace', 'flag'],
    reconcile: ['Reconcile', 'text'],
  },
}

const group: BlockShape = {
  title: 'JobTaskGroup',
  label: 'Name',
  attributes: {
    count: ['Count', 'whole'],
    shutdown_delay: ['ShutdownDelay', 'duration'],
    stop_after_client_disconnect: ['StopAfterClientDisconnect', 'duration'],
    max_client_disconnect: ['MaxClientDisconnect', 'duration'],
  },
  maps: { meta: ['Meta', 'textMap'] },
  blocks: {
    ...placement,
    ...spreads,
    ephemeral_disk: {
      member: 'EphemeralDisk',
      shape: {
        attributes: {
          sticky: ['Sticky', 'flag'],
          migrate: ['Migrate', 'flag'],
          size: ['SizeMB', 'whole'],
        },
      },
      as: 'one',
    },
    disconnect: { member: 'Disconnect', shape: disconnect, as: 'one' },
    migrate: { member: 'Migrate', shape: migrate, as: 'one' },
    network: { member: 'Networks', shape: network, as: 'many' },
    reschedule: { member: 'ReschedulePolicy', shape: reschedule, as: 'one' },
    restart: { member: 'RestartPolicy', shape: restart, as: 'one' },
    scaling: { member: 'Scaling', shape: scaling, as: 'one' },
    service: { member: 'Services', shape: service, as: 'many' },
    task: { member: 'Tasks', shape: task, as: 'many' },
    update: { member: 'Update', shape: update, as: 'one' },
    volume: { member: 'Volumes', shape: volume, as: 'map' },
  },
  refused: {
    vault: 'Vault',
    consul: 'Consul',
    max_run_duration: 'MaxRunDuration',
    prevent_reschedule_on_lost: 'PreventRescheduleOnLost',
  },
  finish: ({ Volumes, ...members }) =>
    Volumes instanceof Map ? { ...members, Volumes: Object.fromEntries(Volumes) } : members,
}

export const jobBlock: BlockShape = {
  title: 'JobSpecification',
  label: 'ID',
  attributes: {
    id: ['ID', 'text'],
    name: ['Name', 'text'],
    namespace: ['Namespace', 'text'],
    region: ['Region', 'text'],
    type: ['Type', 'text'],
    priority: ['Priority', 'whole'],
    all_at_once: ['AllAtOnce', 'flag'],
    datacenters: ['Datacenters', 'texts'],
    node_pool: ['NodePool', 'text'],
  },
  maps: { meta: ['Meta', 'textMap'] },
  blocks: {
    ...placement,
    ...spreads,
    group: { member: 'TaskGroups', shape: group, as: 'many' },
    migrate: { member: 'Migrate', shape: migrate, as: 'one' },
    parameterized: {
      member: 'ParameterizedJob',
      shape: {
        attributes: {
          payload: ['Payload', 'text'],
          meta_required: ['MetaRequired', 'texts'],
          meta_optional: ['MetaOptional', 'texts'],
        },
      },
      as: 'one',
    },
    periodic: {
      member: 'Periodic',
      shape: {
        title: 'JobPeriodic',
        attributes: {
          enabled: ['Enabled', 'flag'],
          cron: ['Spec', 'text'],
          crons: ['Specs', 'texts'],
          prohibit_overlap: ['ProhibitOverlap', 'flag'],
          time_zone: ['TimeZone', 'text'],
        },
      },
      as: 'one',
    },
    reschedule: { member: 'Reschedule', shape: reschedule, as: 'one' },
    task: { member: 'Tasks', shape: task, as: 'many' },
    update: { member: 'Update', shape: update, as: 'one' },
  },
  refused: {
    multiregion: 'Multiregion',
    vault: 'Vault',
    consul: 'Consul',
    ui: 'UI',
  },
  dropped: ['consul_token', 'vault_token'],
  finish: groupsOfTasks,
}

/** A task that stands in the job itself is a group of its own with the same name. */
function groupsOfTasks({ Tasks, TaskGroups, ...members }: Members): Members {
  const tasks: readonly Members[] = Array.isArray(Tasks) ? Tasks : []
  const groups: readonly Members[] = Array.isArray(TaskGroups) ? TaskGroups : []
  const alone = tasks.map((one) => ({ Name: one['Name'], Tasks: [one] }))
  return { ...members, TaskGroups: [...alone, ...groups] }
}
