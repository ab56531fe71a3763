/**
 * Token parameters in a body, for everything that issues tokens: configurations and roles of login methods, roles of the token
 * endpoints, requests for a token. Of several names for one parameter the first that is there counts. A refusal names the
 * parameter as it was sent: the check of the method's arguments knows only where the value is stored.
 */
import type { CoercedFields } from '../../api/coerced-fields.ts'
import { MusterError } from '../../lib/errors.ts'
import {
  checkCidrs,
  checkDurationMs,
  checkIssuedPolicies,
  checkUses,
  IssuedTokenType,
  type TokenParameters,
} from './token-parameters-model.ts'

type Names = readonly [string, ...string[]]

/** Milliseconds. */
export function lifetimeOf(fields: CoercedFields, ...names: Names): number | undefined {
  const name = sent(fields, names)
  const ms = fields.durationMs(name)
  if (ms !== undefined) checkDurationMs(name, ms)
  return ms
}

export function usesOf(fields: CoercedFields, ...names: Names): number | undefined {
  const name = sent(fields, names)
  const uses = fields.integer(name)
  if (uses !== undefined) checkUses(name, uses)
  return uses
}

export function policiesOf(fields: CoercedFields, ...names: Names): readonly string[] | undefined {
  const name = sent(fields, names)
  const policies = fields.list(name)?.filter((policy) => policy !== '')
  if (policies !== undefined) checkIssuedPolicies(name, policies)
  return policies
}

export function cidrsOf(fields: CoercedFields, ...names: Names): readonly string[] | undefined {
  const name = sent(fields, names)
  const cidrs = fields.list(name)?.filter((cidr) => cidr !== '')
  if (cidrs !== undefined) checkCidrs(name, cidrs)
  return cidrs
}

/**
 * What all login methods have in common; what is absent from the body is absent here. `old`: the names from before there was
 * `token_` in front count too. `policies` always does.
 */
export function loginTokenFields(
  fields: CoercedFields,
  { old }: { readonly old: boolean },
): Partial<TokenParameters> {
  const named = (name: string): Names => (old ? [`token_${name}`, name] : [`token_${name}`])
  const ttlMs = lifetimeOf(fields, ...named('ttl'))
  const maxTtlMs = lifetimeOf(fields, ...named('max_ttl'))
  const policies = policiesOf(fields, 'token_policies', 'policies')
  const boundCidrs = cidrsOf(fields, ...named('bound_cidrs'))
  const explicitMaxTtlMs = lifetimeOf(fields, 'token_explicit_max_ttl')
  const noDefaultPolicy = fields.boolean('token_no_default_policy')
  const numUses = usesOf(fields, ...named('num_uses'))
  const periodMs = lifetimeOf(fields, ...named('period'))
  const type = fields.string('token_type')
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(maxTtlMs !== undefined && { maxTtlMs }),
    ...(policies !== undefined && { policies }),
    ...(boundCidrs !== undefined && { boundCidrs }),
    ...(explicitMaxTtlMs !== undefined && { explicitMaxTtlMs }),
    ...(noDefaultPolicy !== undefined && { noDefaultPolicy }),
    ...(numUses !== undefined && { numUses }),
    ...(periodMs !== undefined && { periodMs }),
    ...(type !== undefined && { type: typeOf(type) }),
  }
}

/** An empty text is the default. */
function typeOf(text: string): IssuedTokenType {
  const type = text === '' ? 'default' : IssuedTokenType.enum.find((known) => known === text)
  if (type !== undefined) return type
  throw new MusterError(
    'invalid_argument',
    `token_type must be one of ${IssuedTokenType.enum.join(', ')}`,
  )
}

function sent(fields: CoercedFields, names: Names): string {
  return names.find((name) => fields.has(name)) ?? names[0]
}
