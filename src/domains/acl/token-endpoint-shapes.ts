/** What the token endpoints take and answer. Durations in bodies are seconds or texts such as `1h30m`. */
import { Type } from 'typebox'
import { count, flag, mapOf, nullable, text, Time } from '../../api/shape.ts'

const Duration = Type.Union([Type.Integer({ minimum: 0 }), Type.String()])
const List = Type.Union([Type.Array(Type.String()), Type.String()])

export const CreateBody = Type.Partial(
  Type.Object({
    policies: List,
    ttl: Duration,
    explicit_max_ttl: Duration,
    period: Duration,
    num_uses: count('Requests that the token is good for; 0: not limited'),
    renewable: flag('Default true'),
    meta: mapOf(Type.String(), 'What the token is shown with'),
    display_name: text('Shown as `token-<name>`'),
    type: Type.Enum(['service', 'batch', '']),
    no_parent: flag('The token does not end with the one that made it'),
    no_default_policy: flag('The policy `default` is not added'),
  }),
)

const Secret = { token: text('The secret of the token') }
const Accessor = { accessor: text('The accessor of the token') }
const Increment = { increment: Type.Optional(Duration) }

export const SecretBody = Type.Object(Secret)
export const LookupBody = Type.Object({
  token: Type.Optional(text('The secret of the token; absent or empty: that of the request')),
})
export const AccessorBody = Type.Object(Accessor)
export const RenewBody = Type.Object({ ...Secret, ...Increment })
export const RenewSelfBody = Type.Object(Increment)
export const RenewAccessorBody = Type.Object({ ...Accessor, ...Increment })

export const TokenLookup = Type.Object(
  {
    id: text('The secret that was sent; empty after a look by accessor'),
    accessor: text('The accessor; empty for a batch token'),
    policies: Type.Array(Type.String()),
    path: text('The request that made the token'),
    meta: nullable(mapOf(Type.String())),
    display_name: Type.String(),
    num_uses: count('Requests that are left; 0: not limited'),
    orphan: flag('Whether no other token ends this one'),
    creation_time: count('Seconds since 1970'),
    creation_ttl: count('Seconds that it was given when it was made; 0: no end'),
    expire_time: nullable(Time),
    issue_time: Time,
    ttl: count('Seconds that are left; 0: no end'),
    explicit_max_ttl: count('Seconds after which no renewal helps; 0: no such limit'),
    entity_id: text('Who the token stands for; empty: nobody in particular'),
    type: Type.Enum(['service', 'batch']),
    renewable: flag('Whether it can be renewed'),
    role: Type.Optional(text('The role that it was made by')),
    period: Type.Optional(count('Seconds that each renewal gives')),
    bound_cidrs: Type.Optional(Type.Array(Type.String())),
    last_renewal_time: Type.Optional(count('Seconds since 1970')),
  },
  { title: 'TokenLookup' },
)

export const RoleBody = Type.Partial(
  Type.Object({
    allowed_policies: List,
    disallowed_policies: List,
    allowed_entity_aliases: List,
    allowed_policies_glob: List,
    disallowed_policies_glob: List,
    orphan: flag('Tokens do not end with the token that made them'),
    renewable: flag('Default true'),
    path_suffix: text('Stands at the end of the path of its tokens'),
    token_explicit_max_ttl: Duration,
    token_period: Duration,
    token_bound_cidrs: List,
    token_no_default_policy: flag('The policy `default` is not added'),
    token_num_uses: count('Requests that a token is good for; 0: not limited'),
    token_type: Type.Enum(['service', 'batch', 'default-service', 'default-batch', 'default', '']),
  }),
)

const Names = Type.Array(Type.String())

export const TokenRole = Type.Object(
  {
    name: Type.String(),
    allowed_policies: Names,
    disallowed_policies: Names,
    allowed_entity_aliases: Names,
    allowed_policies_glob: Names,
    disallowed_policies_glob: Names,
    orphan: Type.Boolean(),
    renewable: Type.Boolean(),
    path_suffix: Type.String(),
    token_explicit_max_ttl: count('Seconds'),
    token_period: count('Seconds'),
    token_bound_cidrs: Names,
    token_no_default_policy: Type.Boolean(),
    token_num_uses: count('0: not limited'),
    token_type: Type.Enum(['service', 'batch', 'default-service', 'default-batch']),
    explicit_max_ttl: count('As `token_explicit_max_ttl`'),
    period: count('As `token_period`'),
    bound_cidrs: Names,
  },
  { title: 'TokenRole' },
)
