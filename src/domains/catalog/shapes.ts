/** What routes of the catalog take and answer. */
import { Type } from 'typebox'
import { indexes, mapOf, nullable, text, Texts } from '../../api/shape.ts'
import { CheckStatus } from './model.ts'

export const Node = Type.Object(
  {
    ID: text('UUID, or empty'),
    Node: text('Name'),
    Address: Type.String(),
    Datacenter: Type.String(),
    TaggedAddresses: Texts,
    Meta: Texts,
    ...indexes,
  },
  { title: 'Node' },
)

const Weights = Type.Object({ Passing: Type.Integer(), Warning: Type.Integer() })
const Tags = Type.Array(Type.String())
const Addresses = mapOf(Type.Object({ Address: Type.String(), Port: Type.Integer() }))

export const serviceMembers = {
  ID: Type.String(),
  Service: text('Name'),
  Tags,
  Address: Type.String(),
  TaggedAddresses: Addresses,
  Meta: Texts,
  Port: Type.Integer(),
  Weights,
  EnableTagOverride: Type.Boolean(),
}

export const Service = Type.Object({ ...serviceMembers, ...indexes }, { title: 'Service' })

export const ServiceOfNode = Type.Object(
  {
    ID: text('UUID of the node, or empty'),
    Node: text('Name of the node'),
    Address: text('Address of the node'),
    Datacenter: Type.String(),
    TaggedAddresses: Texts,
    NodeMeta: Texts,
    ServiceKind: Type.Literal(''),
    ServiceID: Type.String(),
    ServiceName: Type.String(),
    ServiceTags: Tags,
    ServiceAddress: Type.String(),
    ServiceTaggedAddresses: Addresses,
    ServiceWeights: Weights,
    ServiceMeta: Texts,
    ServicePort: Type.Integer(),
    ServiceEnableTagOverride: Type.Boolean(),
    ...indexes,
  },
  { title: 'ServiceOfNode' },
)

export const Check = Type.Object(
  {
    Node: Type.String(),
    CheckID: Type.String(),
    Name: Type.String(),
    Status: CheckStatus,
    Notes: Type.String(),
    Output: Type.String(),
    ServiceID: text('Empty: of the node'),
    ServiceName: Type.String(),
    ServiceTags: Tags,
    Type: text('`ttl`, `http`, ...; empty when nobody said'),
    Definition: mapOf(Type.Unknown()),
    ...indexes,
  },
  { title: 'Check' },
)

export const ServicesByName = mapOf(Tags, 'Tags by name of the service')

export const NodeWithServices = nullable(
  Type.Object({ Node, Services: mapOf(Service, 'By ID') }, { title: 'NodeWithServices' }),
)

export const NodeWithServiceList = Type.Object(
  { Node: nullable(Node), Services: Type.Array(Service) },
  { title: 'NodeWithServiceList' },
)

export const HealthOfService = Type.Object(
  { Node, Service, Checks: Type.Array(Check) },
  { title: 'HealthOfService' },
)

export const ServiceBody = Type.Partial(Type.Object(serviceMembers))

export const CheckBody = Type.Partial(
  Type.Object({
    CheckID: Type.String(),
    Name: Type.String(),
    Status: CheckStatus,
    Notes: Type.String(),
    Output: Type.String(),
    ServiceID: Type.String(),
    Type: Type.String(),
    Definition: mapOf(Type.Unknown()),
  }),
)

const nodeMembers = {
  Node: text('Name of the node'),
  Address: Type.String(),
  ID: Type.Optional(text('UUID')),
  Datacenter: Type.Optional(Type.String()),
  TaggedAddresses: Type.Optional(Texts),
  NodeMeta: Type.Optional(Texts),
}

export const AgentNodeBody = Type.Object(nodeMembers)

export const RegistrationBody = Type.Object({
  ...nodeMembers,
  SkipNodeUpdate: Type.Optional(Type.Boolean()),
  Service: Type.Optional(ServiceBody),
  Check: Type.Optional(CheckBody),
  Checks: Type.Optional(Type.Array(CheckBody)),
})

export const DeregistrationBody = Type.Object({
  Node: text('Name of the node'),
  ServiceID: Type.Optional(text('Deregisters this service alone')),
  CheckID: Type.Optional(text('Deregisters this check alone')),
})
