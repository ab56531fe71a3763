/** What routes of access control take and answer. */
import { Type } from 'typebox'
import { flag, indexes, nullable, text, Time } from '../../api/shape.ts'
import { Accessor, AclName, Description, TokenName, TokenType } from './model.ts'

const Named = Type.Object({ Name: AclName })
const NamedWithId = Type.Object({ ID: Type.String(), Name: AclName })

export const tokenMembers = {
  AccessorID: Accessor,
  Name: TokenName,
  Description,
  Type: TokenType,
  Policies: Type.Array(AclName),
  Roles: Type.Array(NamedWithId),
  Global: Type.Literal(true),
  BoundCIDRs: Type.Optional(Type.Array(Type.String())),
  CreateTime: Time,
  ExpirationTime: Type.Optional(Time),
  ...indexes,
}

export const Token = Type.Object(tokenMembers, { title: 'Token' })

export const CreatedToken = Type.Object(
  { ...tokenMembers, SecretID: text('The secret; it is shown this once') },
  { title: 'CreatedToken' },
)

export const BootstrapBody = Type.Object({
  BootstrapSecret: Type.Optional(text('The secret that the token gets; drawn unless said')),
})

const TokenLinks = Type.Array(Type.Union([AclName, Type.Partial(NamedWithId)]))

export const TokenBody = Type.Partial(
  Type.Object({
    AccessorID: text('As in the path'),
    Name: TokenName,
    Description,
    Type: TokenType,
    Policies: TokenLinks,
    Roles: TokenLinks,
  }),
)

const expiration = {
  ExpirationTTL: Type.Union([text('Duration such as `8h`'), Type.Integer()]),
  ExpirationTime: Time,
}

export const NewTokenBody = Type.Partial(Type.Object({ ...TokenBody.properties, ...expiration }))

const policyMembers = { Name: AclName, Description, ...indexes }

export const PolicyStub = Type.Object(policyMembers, { title: 'PolicyMetadata' })

export const Policy = Type.Object(
  { ...policyMembers, Rules: text('HCL or JSON') },
  { title: 'Policy' },
)

export const PolicyBody = Type.Object({
  Name: Type.Optional(text('As in the path')),
  Description: Type.Optional(Description),
  Rules: text('HCL or JSON'),
})

export const Role = Type.Object(
  {
    ID: AclName,
    Name: AclName,
    Description,
    Policies: Type.Array(Named),
    ...indexes,
  },
  { title: 'Role' },
)

/** The token of the request; `?expanded` adds what it may do. */
export const TokenSelf = Type.Object(
  {
    ...Type.Partial(Type.Object(tokenMembers)).properties,
    AccessorID: Accessor,
    Type: TokenType,
    ExpandedPolicies: Type.Optional(Type.Array(Policy)),
    ExpandedRoles: Type.Optional(Type.Array(Role)),
    AgentACLDefaultPolicy: Type.Optional(Type.Enum(['allow', 'deny'])),
    AuditHash: Type.Optional(nullable(text('How the audit log names the token'))),
  },
  { title: 'TokenSelf' },
)

export const RoleBody = Type.Object({
  Name: Type.Optional(text('As in the path')),
  Description: Type.Optional(Description),
  Policies: TokenLinks,
})

export const NewRoleBody = Type.Object({
  Name: AclName,
  Description: Type.Optional(Description),
  Policies: TokenLinks,
})

const Hash = Type.Null()

const consulTokenMembers = {
  AccessorID: Accessor,
  SecretID: text('Empty but for the token that is made or asked with'),
  Description: Type.String(),
  Policies: Type.Array(NamedWithId),
  Roles: Type.Array(NamedWithId),
  Local: Type.Literal(false),
  CreateTime: Time,
  ExpirationTime: Type.Optional(Time),
  Hash,
  ...indexes,
}

export const ConsulToken = Type.Object(consulTokenMembers, { title: 'ConsulToken' })

export const ConsulFirstToken = Type.Object(
  { ID: text('The secret once more'), ...consulTokenMembers },
  { title: 'ConsulFirstToken' },
)

const consulPolicyMembers = {
  ID: text('UUID, which follows from the name'),
  Name: AclName,
  Description: Type.String(),
  Datacenters: Type.Null(),
  Hash,
  ...indexes,
}

export const ConsulPolicyStub = Type.Object(consulPolicyMembers, { title: 'ConsulPolicyMetadata' })

export const ConsulPolicy = Type.Object(
  { ...consulPolicyMembers, Rules: Type.String() },
  { title: 'ConsulPolicy' },
)

export const ConsulRole = Type.Object(
  {
    ID: text('UUID, which follows from the name'),
    Name: AclName,
    Description: Type.String(),
    Policies: Type.Array(NamedWithId),
    Hash,
    ...indexes,
  },
  { title: 'ConsulRole' },
)

export const ConsulTokenBody = Type.Partial(
  Type.Object({
    Description: Type.String(),
    Policies: Type.Array(Type.Partial(NamedWithId)),
    Roles: Type.Array(Type.Partial(NamedWithId)),
    ...expiration,
  }),
)

export const CloneBody = Type.Object({ Description: Type.Optional(Type.String()) })

export const ConsulPolicyBody = Type.Object({
  Name: AclName,
  Description: Type.Optional(Type.String()),
  Rules: Type.Optional(Type.String()),
})

export const ConsulRoleBody = Type.Object({
  Name: AclName,
  Description: Type.Optional(Type.String()),
  Policies: Type.Optional(Type.Array(Type.Partial(NamedWithId))),
})

export const ExplainBody = Type.Object({
  Path: text('Path of the request, with its query'),
  Method: Type.Optional(text('`GET` unless said')),
  Query: Type.Optional(Type.String()),
  Token: Type.Optional(text('Accessor or secret; empty: no token')),
  Body: Type.Optional(Type.Unknown()),
})

export const Explained = Type.Object(
  {
    Route: Type.String(),
    Asks: nullable(text('The method of the server that the route calls')),
    Requirement: Type.Record(Type.String(), Type.Unknown()),
    DependsOn: nullable(text('What the requirement follows from besides the request')),
    Allowed: flag('Whether the token may'),
    DecidedBy: Type.Enum(['nothing is required', 'management', 'rules', 'default policy']),
    DefaultPolicy: Type.Enum(['allow', 'deny']),
    Capability: nullable(Type.String()),
    Missing: nullable(text('The capability that the token lacks')),
    Namespace: nullable(Type.String()),
    Name: nullable(Type.String()),
    Token: nullable(Token),
    Rules: Type.Array(
      Type.Object({
        Policy: Type.String(),
        Where: Type.Unknown(),
        Kind: Type.String(),
        Namespace: nullable(Type.String()),
        Name: Type.String(),
        Capabilities: Type.Array(Type.String()),
      }),
    ),
  },
  { title: 'Explanation' },
)
