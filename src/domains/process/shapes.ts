/** What routes of one process answer. */
import { Type } from 'typebox'
import { count, mapOf, nullable, text, Texts } from '../../api/shape.ts'
import { ConsulMember, memberMembers } from '../members/shapes.ts'

const Side = Type.Object({
  ok: Type.Boolean(),
  message: text('`ok`, or what keeps it from its work'),
  detail: Type.Optional(text('What an operator should change although it works')),
})

export const Health = Type.Object(
  { server: Type.Optional(Side), client: Type.Optional(Side) },
  { title: 'AgentHealth' },
)

const AnyObject = mapOf(Type.Unknown())
const Stats = mapOf(Texts, 'Sections of figures, all as text')

export const Self = Type.Object({
  config: AnyObject,
  member: Type.Object(memberMembers),
  stats: Stats,
})

export const ConsulVersion = Type.Object({
  SHA: Type.String(),
  BuildDate: Type.String(),
  HumanVersion: Type.String(),
  FIPS: Type.String(),
})

export const ConsulSelf = Type.Object({
  Config: Type.Object({
    Datacenter: Type.String(),
    PrimaryDatacenter: Type.String(),
    NodeName: Type.String(),
    NodeID: Type.String(),
    Revision: Type.String(),
    Server: Type.Boolean(),
    Version: Type.String(),
    BuildDate: Type.String(),
  }),
  DebugConfig: AnyObject,
  Coord: Type.Null(),
  Member: ConsulMember,
  Stats,
  Meta: AnyObject,
})

export const Host = Type.Object({
  AgentID: Type.String(),
  HostData: Type.Object({
    OS: Type.String(),
    Network: Type.Array(Texts),
    ResolvConf: Type.String(),
    Hosts: Type.String(),
    Environment: mapOf(Type.String(), 'Without secrets'),
    Disk: mapOf(Type.Object({ DiskMB: count('Size'), UsedMB: count('In use') }), 'By mount point'),
  }),
})

/** One of the log's frames, or `{}` as a heartbeat. */
export const LogFrame = Type.Object({
  Offset: Type.Optional(count('Where in the stream the data begins')),
  Data: Type.Optional(text('Base64')),
  FileEvent: Type.Optional(Type.Literal('log')),
})

export const Schedulers = Type.Object({
  server_id: Type.String(),
  schedulers: Type.Array(
    Type.Object({
      id: Type.String(),
      started: Type.String(),
      status: Type.Enum(['Started', 'Paused']),
      workload_status: Type.Enum(['WaitingToDequeue', 'Scheduling', 'Submitting', 'Paused']),
      enabled_schedulers: Type.Array(Type.String()),
    }),
  ),
})

const schedulerSettings = {
  num_schedulers: count('Workers'),
  enabled_schedulers: Type.Array(Type.String(), { description: 'Kinds of work they take' }),
}

export const SchedulersConfig = Type.Object({ server_id: Type.String(), ...schedulerSettings })
export const SchedulersBody = Type.Object(schedulerSettings)

export const Addresses = nullable(Type.Array(text('host:port')))
