/** Configuration and roles as clients of Vault read them. */
import type { ConfigRow, Role } from './model.ts'

export function shownConfig({ config, hasReviewer }: ConfigRow) {
  const { host, authorities } = config
  return {
    orchestrator_host: host,
    orchestrator_ca_cert: authorities,
    // Clients that know the method by its other name.
    kubernetes_host: host,
    kubernetes_ca_cert: authorities,
    pem_keys: config.pemKeys,
    disable_local_ca_jwt: config.disableLocalCaJwt,
    disable_iss_validation: config.disableIssValidation,
    issuer: config.issuer,
    token_reviewer_jwt_set: hasReviewer,
  }
}

export function shownRole({ names, namespaces, audience, aliasNameSource, tokens }: Role) {
  const ttl = seconds(tokens.ttlMs)
  const maxTtl = seconds(tokens.maxTtlMs)
  const period = seconds(tokens.periodMs)
  return {
    bound_service_account_names: names,
    bound_service_account_namespaces: namespaces,
    audience,
    alias_name_source: aliasNameSource,
    token_ttl: ttl,
    token_max_ttl: maxTtl,
    token_policies: tokens.policies,
    token_bound_cidrs: tokens.boundCidrs,
    token_explicit_max_ttl: seconds(tokens.explicitMaxTtlMs),
    token_no_default_policy: tokens.noDefaultPolicy,
    token_num_uses: tokens.numUses,
    token_period: period,
    token_type: tokens.type,
    ttl,
    max_ttl: maxTtl,
    period,
    policies: tokens.policies,
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000)
}
