/** The body of a role's write. Old names of token parameters count where the new ones are absent. */
import type { CoercedFields } from '../../api/coerced-fields.ts'
import { oneOf } from '../../api/one-of.ts'
import { loginTokenFields } from '../acl/token-fields-routes.ts'
import { AliasNameSource, audienceLengthMax, type RoleChange } from './model.ts'

export function roleChangeOf(fields: CoercedFields): RoleChange {
  const names = fields.list('bound_service_account_names')
  const namespaces = fields.list('bound_service_account_namespaces')
  const audience = fields.string('audience', audienceLengthMax)
  const source = fields.string('alias_name_source')
  return {
    ...(names !== undefined && { names }),
    ...(namespaces !== undefined && { namespaces }),
    ...(audience !== undefined && { audience }),
    ...(source !== undefined && { aliasNameSource: aliasNameSourceOf(source) }),
    tokens: loginTokenFields(fields, { old: true }),
  }
}

/** An empty text is the default. */
function aliasNameSourceOf(text: string): AliasNameSource {
  if (text === '') return 'serviceaccount_uid'
  return oneOf('alias_name_source', text, AliasNameSource.enum)
}
