/** The `acl` block of a configuration. */
import type { Complain } from './config-listeners.ts'
import type { ConfigFile } from './config-schema.ts'

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
export function completeAcl(file: NonNullable<ConfigFile['acl']>, complain: Complain): AclConfig {
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
    enabled: file.enabled ?? false,
    defaultPolicy: file.default_policy ?? 'deny',
    downPolicy: file.down_policy ?? 'deny',
    bootstrapToken: secret,
    agentToken,
  }
}
