/** A configuration as clients of Vault read it. */
import type { DirectoryConfig } from './model.ts'

export function shownConfig(config: DirectoryConfig) {
  const { tokens } = config
  return {
    url: config.url,
    case_sensitive_names: config.caseSensitiveNames,
    connection_timeout: seconds(config.connectionTimeoutMs),
    request_timeout: seconds(config.requestTimeoutMs),
    starttls: config.starttls,
    tls_min_version: config.tlsMinVersion,
    tls_max_version: config.tlsMaxVersion,
    insecure_tls: config.insecureTls,
    certificate: config.certificate,
    client_tls_cert: config.clientTlsCert,
    binddn: config.binddn,
    bindpass: '',
    userdn: config.userdn,
    userattr: config.userattr,
    discoverdn: config.discoverdn,
    deny_null_bind: config.denyNullBind,
    upndomain: config.upndomain,
    userfilter: config.userfilter,
    anonymous_group_search: config.anonymousGroupSearch,
    groupfilter: config.groupfilter,
    groupdn: config.groupdn,
    groupattr: config.groupattr,
    username_as_alias: config.usernameAsAlias,
    dereference_aliases: config.dereferenceAliases,
    max_page_size: config.maxPageSize,
    use_token_groups: config.useTokenGroups,
    enable_samaccountname_login: config.enableSamaccountnameLogin,
    rotation_period: seconds(config.rotationPeriodMs),
    rotation_schedule: config.rotationSchedule,
    rotation_window: seconds(config.rotationWindowMs),
    disable_automated_rotation: config.disableAutomatedRotation,
    token_ttl: seconds(tokens.ttlMs),
    token_max_ttl: seconds(tokens.maxTtlMs),
    token_policies: [...tokens.policies],
    token_bound_cidrs: [...tokens.boundCidrs],
    token_explicit_max_ttl: seconds(tokens.explicitMaxTtlMs),
    token_no_default_policy: tokens.noDefaultPolicy,
    token_num_uses: tokens.numUses,
    token_period: seconds(tokens.periodMs),
    token_type: tokens.type,
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000)
}
