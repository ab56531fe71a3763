/** The body of a role's write. Old names of token parameters count where the new ones are absent. */
import type { CoercedFields } from '../../api/coerced-fields.ts'
import { MusterError } from '../../lib/errors.ts'
import { AliasNameSource, type RoleChange } from './model.ts'

export function roleChangeOf(fields: CoercedFields): RoleChange {
  const names = fields.list('bound_service_account_names')
  const namespaces = fields.list('bound_service_account_namespaces')
  const audience = fields.string('audience')
  const source = fields.string('alias_name_source')
  return {
    ...(names !== undefined && { names }),
    ...(namespaces !== undefined && { namespaces }),
    ...(audience !== undefined && { audience }),
    ...(source !== undefined && { aliasNameSource: aliasNameSourceOf(source) }),
    tokens: tokensOf(fields),
  }
}

/** An empty text is the default. */
function aliasNameSourceOf(text: string): AliasNameSource {
  if (text === '') return 'serviceaccount_uid'
  return oneOf('alias_name_source', AliasNameSource.enum, text)
}

function tokensOf(fields: CoercedFields): RoleChange['tokens'] {
  const ttlMs = fields.durationMs('token_ttl') ?? fields.durationMs('ttl')
  const maxTtlMs = fields.durationMs('token_max_ttl') ?? fields.durationMs('max_ttl')
  const policies = fields.list('token_policies') ?? fields.list('policies')
  const boundCidrs = fields.list('token_bound_cidrs') ?? fields.list('bound_cidrs')
  const explicitMaxTtlMs = fields.durationMs('token_explicit_max_ttl')
  const noDefaultPolicy = fields.boolean('token_no_default_policy')
  const numUses = fields.integer('token_num_uses') ?? fields.integer('num_uses')
  const periodMs = fields.durationMs('token_period') ?? fields.durationMs('period')
  const type = fields.string('token_type')
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(maxTtlMs !== undefined && { maxTtlMs }),
    ...(policies !== undefined && { policies: filled(policies) }),
    ...(boundCidrs !== undefined && { boundCidrs: filled(boundCidrs) }),
    ...(explicitMaxTtlMs !== undefined && { explicitMaxTtlMs }),
    ...(noDefaultPolicy !== undefined && { noDefaultPolicy }),
    ...(numUses !== undefined && { numUses: atLeastNone('token_num_uses', numUses) }),
    ...(periodMs !== undefined && { periodMs }),
    ...(type !== undefined && { type: tokenTypeOf(type) }),
  }
}

const tokenTypes = ['service', 'batch', 'default'] as const

/** An empty text is the default. */
function tokenTypeOf(text: string): (typeof tokenTypes)[number] {
  return text === '' ? 'default' : oneOf('token_type', tokenTypes, text)
}

function oneOf<Word extends string>(name: string, words: readonly Word[], text: string): Word {
  const word = words.find((known) => known === text)
  if (word !== undefined) return word
  throw new MusterError('invalid_argument', `${name} must be one of ${words.join(', ')}`)
}

function atLeastNone(name: string, value: number): number {
  if (value >= 0) return value
  throw new MusterError('invalid_argument', `${name} must not be negative`)
}

function filled(items: readonly string[]): readonly string[] {
  return items.filter((item) => item !== '')
}
