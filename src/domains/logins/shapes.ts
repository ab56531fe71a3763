/** What the routes of mounts take and answer. */
import { Type } from 'typebox'
import { count, flag, text } from '../../api/shape.ts'
import { MountTokenType } from './model.ts'

const Duration = (description: string) =>
  Type.Unsafe({ type: ['string', 'integer'], description: `${description}; seconds or as \`1h\`` })

export const ShownMount = Type.Object(
  {
    type: text(
      'As it was enabled: `ldap`, `orchestrator`, `kubernetes`; or `token` for the tokens themselves',
    ),
    description: Type.String(),
    accessor: text('Name of the mount that stays whatever its path is'),
    uuid: text('Id of the mount: one that is enabled anew has another'),
    local: flag('Always false'),
    seal_wrap: flag('Always false'),
    external_entropy_access: flag('Always false'),
    options: Type.Null(),
    config: Type.Object({
      default_lease_ttl: count('Seconds; 0: the default of 768 h'),
      max_lease_ttl: count('Seconds; 0: the maximum of 768 h'),
      force_no_cache: flag('Always false'),
      token_type: MountTokenType,
    }),
  },
  { title: 'Mount' },
)

const lockoutConfig = Type.Object({
  lockout_threshold: Type.Optional(count('Failed logins of one name until it is locked; 5')),
  lockout_duration: Type.Optional(Duration('How long the name is locked; 15 minutes')),
  lockout_counter_reset_duration: Type.Optional(
    Duration('Failures that lie further back do not count; 15 minutes'),
  ),
  lockout_disable: Type.Optional(flag('Lock nobody')),
})

/** The one word of Vault's for who sees a mount. */
export const hiddenMount = 'hidden'

const tunable = {
  default_lease_ttl: Type.Optional(Duration('Lifetime of tokens for which nothing else is set')),
  max_lease_ttl: Type.Optional(Duration('Longest lifetime of a token, renewals included')),
  token_type: Type.Optional(MountTokenType),
  listing_visibility: Type.Optional(
    text('`hidden`, which every mount is but for callers whose policies let them read it'),
  ),
}

export const EnableBody = Type.Object({
  type: text('`ldap` or `orchestrator`; `kubernetes` is another word for the latter'),
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Object(tunable)),
})

export const TuneBody = Type.Object({
  description: Type.Optional(Type.String()),
  ...tunable,
  user_lockout_config: Type.Optional(lockoutConfig),
})

export const Tuned = Type.Object({
  default_lease_ttl: count('Seconds'),
  max_lease_ttl: count('Seconds'),
  description: Type.String(),
  force_no_cache: flag('Always false'),
  token_type: MountTokenType,
  /** The token endpoints have no logins. */
  user_lockout_config: Type.Optional(
    Type.Object({
      lockout_threshold: count('Failed logins of one name until it is locked'),
      lockout_duration: count('Seconds'),
      lockout_counter_reset_duration: count('Seconds'),
      lockout_disable: Type.Boolean(),
    }),
  ),
})
