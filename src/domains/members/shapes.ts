/** What routes of the gossip pool answer. */
import { Type } from 'typebox'
import { count, mapOf, nullable, text, Texts, Time } from '../../api/shape.ts'

const versions = {
  ProtocolMin: Type.Integer(),
  ProtocolMax: Type.Integer(),
  ProtocolCur: Type.Integer(),
  DelegateMin: Type.Integer(),
  DelegateMax: Type.Integer(),
  DelegateCur: Type.Integer(),
}

/** As gossip has a member, without what the failure detector thinks. */
export const memberMembers = {
  Name: text('`name.region`'),
  Addr: Type.String(),
  Port: Type.Integer(),
  Tags: Texts,
  Status: Type.Enum(['alive', 'leaving', 'left', 'failed']),
  ...versions,
}

const Suspicion = Type.Object(
  {
    By: text('The member that doubted first'),
    Why: Type.String(),
    Path: Type.String(),
    ToldBy: nullable(Type.String()),
    ConfirmedBy: Type.Array(Type.String()),
    Incarnation: Type.Integer(),
    At: Time,
    Ended: nullable(text('How it ended; null while it lasts')),
    EndedAt: nullable(Time),
    EndedBy: nullable(Type.String()),
  },
  { title: 'Suspicion' },
)

const Member = Type.Object(
  {
    ...memberMembers,
    ChangedAt: Time,
    GoneAt: nullable(Time),
    GoneBy: nullable(Type.String()),
    Suspected: Type.Boolean(),
    UDPBlocked: Type.Boolean(),
    Suspicion: nullable(Suspicion),
  },
  { title: 'Member' },
)

export const Members = Type.Object({
  ServerName: Type.String(),
  ServerRegion: Type.String(),
  ServerDC: Type.String(),
  Members: Type.Array(Member),
})

export const ConsulMember = Type.Object(
  {
    ...memberMembers,
    Status: Type.Integer({ description: '1 alive, 2 leaving, 3 left, 4 failed' }),
  },
  { title: 'ConsulMember' },
)

export const Joined = Type.Object({
  num_joined: count('Members that answered'),
  error: text('Why none did; empty otherwise'),
  warning: Type.Optional(text('What failed besides')),
})

const report = {
  Messages: Texts,
  Keys: mapOf(Type.Integer(), 'Members that have the key, by key'),
  PrimaryKeys: mapOf(Type.Integer(), 'Members that encrypt with the key, by key'),
}

export const KeyReport = Type.Object(
  { ...report, NumNodes: count('Members'), NumResp: count('Members that answered') },
  { title: 'GossipKeys' },
)

export const ConsulKeyReport = Type.Object(
  {
    WAN: Type.Boolean(),
    Datacenter: Type.String(),
    Segment: Type.String(),
    ...report,
    NumNodes: count('Members'),
  },
  { title: 'ConsulGossipKeys' },
)

export const KeyBody = Type.Object({ Key: text('The key in base64: 16, 24 or 32 bytes') })

export const Coordinate = Type.Object(
  {
    Node: Type.String(),
    Segment: Type.String(),
    Coord: Type.Object({
      Vec: Type.Array(Type.Number()),
      Error: Type.Number(),
      Adjustment: Type.Number(),
      Height: Type.Number(),
    }),
  },
  { title: 'Coordinate' },
)

export const DatacenterCoordinates = Type.Object({
  Datacenter: Type.String(),
  AreaID: Type.String(),
  Coordinates: Type.Array(Coordinate),
})

export const changeSummaries = {
  install: 'Add a key of the gossip',
  use: 'Encrypt the gossip with a key',
  remove: 'Remove a key of the gossip',
} as const

export const exampleKey = 'MDEyMzQ1Njc4OWFiY2RlZg=='
