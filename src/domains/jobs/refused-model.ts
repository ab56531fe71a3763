/**
 * Parts of Nomad's jobs that this program does not serve. To ignore one would run another job than the user asked for, so a job that
 * sets one is refused. By the title of the block, then by the member of the API.
 */
const mesh = 'is not served: this program has no service mesh'
const identity = 'is not served: tasks get no identities'
const vault = 'is not served: let a template read variables of this cluster'
const consul = 'is not served: services are registered in the catalog of this cluster'
const csi = 'is not served: volumes are folders of the machines'
const kept =
  'true is not served: the folders of an allocation end with it, use a volume of type host'

/** Values of these that ask for nothing, beside what is empty. */
export const harmlessValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JobSpecification: { NodePool: 'default' },
  JobPort: { HostNetwork: 'default' },
}

export const refusedMembers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JobSpecification: {
    Vault: vault,
    Consul: consul,
    UI: 'is not served: put descriptions and links into Meta',
    Multiregion: 'is not served: each cluster stands for itself; register the job at each of them',
    NodePool: 'is not served: choose nodes by constraints, and leave it out or say default',
  },
  JobTaskGroup: {
    Vault: vault,
    Consul: consul,
    PreventRescheduleOnLost:
      'is not served: Disconnect with LostAfter and Replace false leaves a place free for that long',
    MaxRunDuration: 'is not served: let the task end itself',
  },
  JobTask: {
    Vault: vault,
    Secrets: vault,
    Consul: consul,
    CSIPluginConfig: csi,
    Kind: mesh,
    ScalingPolicies:
      'is not served: only the counts of groups are scaled, set Scaling of the group',
    Identity: identity,
    Identities: identity,
    Actions: 'is not served: run commands in a task by exec',
    Schedule: 'is not served: use a periodic batch job',
  },
  JobResources: {
    Devices: 'is not served: no devices are handed to tasks',
    Cores: 'is not served: ask for CPU in MHz',
    NUMA: 'is not served: ask for CPU in MHz',
    SecretsMB: 'is not served: the folder of secrets counts as memory',
  },
  JobEphemeralDisk: {
    Migrate: kept,
  },
  JobNetwork: {
    CNI: 'is not served: give the name of the network alone',
    DNS: 'is not served: tasks resolve names as their machine does',
    Hostname:
      'is not served: tasks have the name of their machine, or what their driver gives them',
  },
  JobRestart: {
    RenderTemplates:
      'is not served: templates are rendered anew when what they are made of changes',
  },
  JobLogConfig: {
    Disabled: 'is not served: let the task write to /dev/null what is not wanted',
  },
  JobPort: {
    HostNetwork: 'is not served: ports are those of the address of the machine',
    IgnoreCollision: 'is not served: a port of a machine is of one allocation at a time',
  },
  JobService: {
    Connect: mesh,
    Kind: mesh,
    Identity: identity,
  },
  JobCheck: {
    Expose: mesh,
    Advertise: mesh,
  },
  JobTemplate: {
    ErrMissingKey: 'is not served: a template waits for keys that are missing',
  },
  JobVolume: {
    PerAlloc: csi,
    MountOptions: csi,
    Sticky: csi,
    AccessMode: csi,
    AttachmentMode: csi,
  },
}
