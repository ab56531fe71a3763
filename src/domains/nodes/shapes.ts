/** What routes about client nodes take and answer. */
import { Type } from 'typebox'
import { count, flag, indexes, mapOf, nullable, text, Texts, Time } from '../../api/shape.ts'
import { nodeStatuses } from './model.ts'

const Driver = Type.Object(
  {
    Attributes: nullable(Texts),
    Detected: Type.Boolean(),
    Healthy: Type.Boolean(),
    HealthDescription: Type.String(),
    UpdateTime: Time,
  },
  { title: 'ClientNodeDriver' },
)

const LastDrain = Type.Object(
  {
    StartedAt: Time,
    UpdatedAt: Time,
    Status: Type.Enum(['draining', 'complete', 'canceled']),
    AccessorID: text('Of the token that asked'),
    Meta: nullable(Texts),
  },
  { title: 'ClientNodeLastDrain' },
)

const common = {
  ID: text('UUID of the node, which is that of its agent'),
  Name: Type.String(),
  Datacenter: Type.String(),
  NodeClass: Type.String(),
  Drain: flag('Whether it is being drained'),
  SchedulingEligibility: Type.Enum(['eligible', 'ineligible']),
  Status: Type.Enum([...nodeStatuses]),
  StatusDescription: Type.String(),
  Drivers: mapOf(Driver, 'By name; empty while agents run no work'),
  LastDrain: nullable(LastDrain),
  ...indexes,
}

const Network = Type.Object(
  {
    CIDR: Type.String(),
    Device: Type.String(),
    DynamicPorts: Type.Null(),
    IP: Type.String(),
    MBits: count('0: not known'),
    Mode: Type.String(),
    ReservedPorts: Type.Null(),
  },
  { title: 'ClientNodeNetwork' },
)
const Networks = Type.Array(Network)

const resources = {
  NodeResources: Type.Object({
    Cpu: Type.Object({ CpuShares: count('MHz of all cores') }),
    Devices: Type.Null(),
    Disk: Type.Object({ DiskMB: count('Of the data folder') }),
    Memory: Type.Object({ MemoryMB: count('Of the machine') }),
    Networks,
    NodeNetworks: Type.Array(
      Type.Object({
        Addresses: Type.Array(
          Type.Object({
            Address: Type.String(),
            Alias: Type.String(),
            Family: Type.String(),
            Gateway: Type.String(),
            ReservedPorts: Type.String(),
          }),
        ),
        Device: Type.String(),
        MacAddress: Type.String(),
        Mode: Type.String(),
      }),
    ),
  }),
  ReservedResources: Type.Object({
    Cpu: Type.Object({ CpuShares: count('MHz') }),
    Disk: Type.Object({ DiskMB: count('MiB') }),
    Memory: Type.Object({ MemoryMB: count('MiB') }),
    Networks: Type.Object({ ReservedHostPorts: text('As `22,80,8500-8600`') }),
  }),
}

export const NodeStub = Type.Object(
  {
    ...common,
    Address: text('Host of its API'),
    Version: text('Of its program'),
    // Where the request asks for them.
    Attributes: Type.Optional(Texts),
    NodeResources: Type.Optional(resources.NodeResources),
    ReservedResources: Type.Optional(resources.ReservedResources),
  },
  { title: 'ClientNodeListStub' },
)

const Event = Type.Object(
  {
    Message: Type.String(),
    Subsystem: Type.String(),
    Details: nullable(Texts),
    Timestamp: Time,
    CreateIndex: count('Index of the log entry that recorded it; 0 for the registration'),
  },
  { title: 'ClientNodeEvent' },
)

export const Node = Type.Object(
  {
    ...common,
    Attributes: Texts,
    ComputedClass: text('The same for nodes that are alike'),
    DrainStrategy: nullable(
      Type.Object({
        Deadline: Type.Integer({ description: 'Nanoseconds' }),
        IgnoreSystemJobs: Type.Boolean(),
        StartedAt: Time,
        ForceDeadline: text('RFC 3339; year 1: there is none'),
      }),
    ),
    Events: Type.Array(Event, { description: 'The last ten, the oldest first' }),
    HTTPAddr: Type.String(),
    HostVolumes: mapOf(
      Type.Object({ Name: Type.String(), Path: Type.String(), ReadOnly: Type.Boolean() }),
    ),
    Links: Texts,
    Meta: Texts,
    ...resources,
    Reserved: Type.Object({
      CPU: count('MHz'),
      Devices: Type.Null(),
      DiskMB: count('MiB'),
      IOPS: count('Always 0'),
      MemoryMB: count('MiB'),
      Networks: Type.Null(),
    }),
    Resources: Type.Object({
      CPU: count('MHz'),
      Devices: Type.Null(),
      DiskMB: count('MiB'),
      IOPS: count('Always 0'),
      MemoryMB: count('MiB'),
      Networks,
    }),
    SecretID: text('Always empty'),
    StatusUpdatedAt: count('Seconds since 1970'),
    TLSEnabled: Type.Boolean(),
  },
  { title: 'ClientNode' },
)

const evaluated = {
  EvalCreateIndex: count('0: no evaluation was made'),
  EvalIDs: nullable(Type.Array(Type.String())),
  Index: count('Index of the log entry'),
  NodeModifyIndex: count('Index of the node; 0: nothing changed'),
}

export const NodeUpdated = Type.Object(evaluated, { title: 'ClientNodeUpdated' })

export const NodeEvaluated = Type.Object(
  {
    ...evaluated,
    HeartbeatTTL: count('Always 0'),
    KnownLeader: Type.Boolean(),
    LastContact: count('Always 0'),
    LeaderRPCAddr: Type.String(),
    NumNodes: count('There are'),
    Servers: Type.Array(
      Type.Object({
        Datacenter: Type.String(),
        RPCAdvertiseAddr: Type.String(),
        RPCMajorVersion: count('Always 1'),
        RPCMinorVersion: count('Always 1'),
      }),
    ),
  },
  { title: 'ClientNodeEvaluated' },
)

export const EligibilityBody = Type.Object({
  Eligibility: Type.Enum(['eligible', 'ineligible']),
})

export const DrainBody = Type.Object({
  DrainSpec: Type.Optional(
    nullable(
      Type.Object({
        Deadline: Type.Integer({
          description:
            'Nanoseconds; 0: no deadline, below 0: everything is stopped at once; more than 104 days are 104 days',
        }),
        IgnoreSystemJobs: Type.Optional(flag('System jobs stay')),
      }),
    ),
  ),
  MarkEligible: Type.Optional(flag('Where the drain is stopped: the node takes work again')),
  Meta: Type.Optional(nullable(Texts)),
})
