/** What the routes of the orchestrator method take and answer. */
import { Type } from 'typebox'
import { count, flag, text } from '../../api/shape.ts'
import { AliasNameSource } from './model.ts'

const List = (description: string) =>
  Type.Unsafe({
    type: ['array', 'string'],
    items: { type: 'string' },
    description: `${description}; a list, or a text with commas`,
  })
const Duration = (description: string) =>
  Type.Unsafe({ type: ['string', 'integer'], description: `${description}; seconds or as \`1h\`` })

const described = {
  host: text('Host, host:port or https:// URL of the API server'),
  ca: text(
    'Certificates in PEM that vouch for the API server; empty: those of the pod, else of the system',
  ),
  local: flag('Use neither the authority nor the token of the pod that the server runs in'),
  validation: flag('Do not compare the issuer; true unless said'),
  issuer: text('Issuer of tokens; empty: `kubernetes/serviceaccount`'),
}

export const ConfigBody = Type.Object({
  orchestrator_host: Type.Optional(described.host),
  orchestrator_ca_cert: Type.Optional(described.ca),
  kubernetes_host: Type.Optional(text('Another name of `orchestrator_host`')),
  kubernetes_ca_cert: Type.Optional(text('Another name of `orchestrator_ca_cert`')),
  token_reviewer_jwt: Type.Optional(
    text('Token that the review is asked with; empty: the pod’s, else the one that logs in'),
  ),
  pem_keys: Type.Optional(List('Public keys or certificates in PEM that verify signatures')),
  disable_local_ca_jwt: Type.Optional(described.local),
  disable_iss_validation: Type.Optional(described.validation),
  issuer: Type.Optional(described.issuer),
})

export const ShownConfig = Type.Object(
  {
    orchestrator_host: described.host,
    orchestrator_ca_cert: described.ca,
    kubernetes_host: text('As `orchestrator_host`'),
    kubernetes_ca_cert: text('As `orchestrator_ca_cert`'),
    pem_keys: Type.Array(Type.String()),
    disable_local_ca_jwt: described.local,
    disable_iss_validation: described.validation,
    issuer: described.issuer,
    token_reviewer_jwt_set: flag('Whether there is a reviewer’s token, which is never shown'),
  },
  { title: 'OrchestratorConfig' },
)

export const RoleBody = Type.Object({
  bound_service_account_names: Type.Optional(List('Names of accounts; `*` stands for any letters')),
  bound_service_account_namespaces: Type.Optional(List('Namespaces, as the names')),
  audience: Type.Optional(text('Audience that a token must have')),
  alias_name_source: Type.Optional(AliasNameSource),
  token_ttl: Type.Optional(Duration('Lifetime of tokens')),
  token_max_ttl: Type.Optional(Duration('Longest lifetime, renewals included')),
  token_policies: Type.Optional(List('Policies of tokens')),
  token_bound_cidrs: Type.Optional(List('Networks that tokens are given to and used from')),
  token_explicit_max_ttl: Type.Optional(Duration('Longest lifetime, whatever is changed later')),
  token_no_default_policy: Type.Optional(flag('Leave out the policy `default`')),
  token_num_uses: Type.Optional(count('Requests that a token is good for; 0: not limited')),
  token_period: Type.Optional(Duration('Lifetime of periodic tokens')),
  token_type: Type.Optional(text('`service`, `batch`, or `default`: as the mount says')),
  ttl: Type.Optional(Duration('Old name of `token_ttl`')),
  max_ttl: Type.Optional(Duration('Old name of `token_max_ttl`')),
  policies: Type.Optional(List('Old name of `token_policies`')),
  period: Type.Optional(Duration('Old name of `token_period`')),
  num_uses: Type.Optional(count('Old name of `token_num_uses`')),
  bound_cidrs: Type.Optional(List('Old name of `token_bound_cidrs`')),
})

const Texts = Type.Array(Type.String())

export const ShownRole = Type.Object(
  {
    bound_service_account_names: Texts,
    bound_service_account_namespaces: Texts,
    audience: Type.String(),
    alias_name_source: AliasNameSource,
    token_ttl: count('Seconds'),
    token_max_ttl: count('Seconds'),
    token_policies: Texts,
    token_bound_cidrs: Texts,
    token_explicit_max_ttl: count('Seconds'),
    token_no_default_policy: Type.Boolean(),
    token_num_uses: count('0: not limited'),
    token_period: count('Seconds'),
    token_type: Type.Enum(['service', 'batch', 'default']),
    ttl: count('As `token_ttl`'),
    max_ttl: count('As `token_max_ttl`'),
    period: count('As `token_period`'),
    policies: Texts,
  },
  { title: 'OrchestratorRole' },
)

export const LoginBody = Type.Object({
  role: text('Name of the role to log in by'),
  jwt: text('Token of the service account, signed'),
})
