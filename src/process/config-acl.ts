/** The `acl` block of a configuration. */
import Type from 'typebox'
import type { Complain } from './config-check.ts'
import { choice, closed, flag, text } from './config-values.ts'

export const aclDefaults = ['allow', 'deny'] as const

const downPolicies = ['deny', 'extend-cache'] as const

export const aclSchema = Type.Object(
  {
    enabled: flag({
      default: false,
      about: 'without it everything is allowed to everybody, and there are no tokens',
    }),
    default_policy: choice(aclDefaults, {
      default: 'deny',
      about:
        '`allow`: what no rule speaks of is allowed, except tokens, policies, login methods and archives',
    }),
    down_policy: choice(downPolicies, {
      default: 'deny',
      about:
        '`extend-cache`: without a leader a server trusts the tokens that it knows, see [below](#tokens-without-a-leader)',
    }),
    /** Both are checked below, by refusals that do not show them. */
    bootstrap_token: Type.Optional(
      text('a random secret', {
        about:
          'the secret of the first token, 32 to 256 random characters; used when there has been no first one yet',
      }),
    ),
    agent_token: Type.Optional(
      text('the secret of a token', {
        about:
          'with which a client agent keeps its node in the catalog: [The token of an agent](client-agents.md#access-control)',
      }),
    ),
  },
  {
    ...closed,
    default: {},
    about: 'tokens and policies: [Access control](access-control.md)',
    shown: 'off',
  },
)

export type AclConfig = {
  readonly enabled: boolean
  /** Where no rule says anything. */
  readonly defaultPolicy: 'allow' | 'deny'
  /** Of tokens while no leader says whether they were revoked. */
  readonly downPolicy: 'deny' | 'extend-cache'
  /** The secret of the first token; null: the first client that asks gets one. */
  readonly bootstrapToken: string | null
  /** The secret with which a client agent keeps its node in the catalog; null: none. */
  readonly agentToken: string | null
}

/** As long as the randomness of two UUIDs; it is kept as a plain hash, so it must not be guessable. */
const secretPattern = /^[\x21-\x7e]{32,256}$/

/** Refusals never show the secret. */
export function completeAcl(
  file: Type.StaticDecode<typeof aclSchema>,
  complain: Complain,
): AclConfig {
  const secret = file.bootstrap_token ?? null
  const agentToken = file.agent_token ?? null
  if (secret !== null && !secretPattern.test(secret)) {
    complain(
      'acl.bootstrap_token',
      'must be 32 to 256 random visible ASCII characters, as of openssl rand -hex 32',
    )
  }
  if (agentToken !== null && !secretPattern.test(agentToken)) {
    complain('acl.agent_token', 'must be the secret of a token: 32 to 256 visible characters')
  }
  return {
    enabled: file.enabled,
    defaultPolicy: file.default_policy,
    downPolicy: file.down_policy,
    bootstrapToken: secret,
    agentToken,
  }
}
