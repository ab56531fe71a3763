/** Names of policies and roles by the ids that Consul's tools know them by. */
import { Type } from 'typebox'
import { onePage } from '../../rpc/list.ts'
import { defineQuery } from '../../rpc/method.ts'
import { idOf, managementPolicy, managementPolicyId } from './consul-shown.ts'
import { aclIndex, allPolicies, allRoles } from './queries.ts'
import { assertAclEnabled } from './services.ts'

/** Of a UUID. */
const idLengthMax = 36

/** Looks at all of them: people and their tools ask so, not requests that are judged. Null: no such one. */
const nameOf = defineQuery({
  kind: 'query',
  name: 'acl.nameOfId',
  args: Type.Object({
    what: Type.Enum(['policy', 'role']),
    id: Type.String({ maxLength: idLengthMax }),
  }),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (
    reader,
    { what, id },
    context,
  ): Promise<{ value: string | null; index: number }> => {
    assertAclEnabled(context)
    const wanted = id.toLowerCase()
    if (what === 'policy' && wanted === managementPolicyId) {
      return { value: managementPolicy, index: aclIndex(reader, 'policies') }
    }
    const first = { perPage: 1, nextToken: null }
    const { rows } = await onePage(context, first, {
      pages: what === 'policy' ? allPolicies(reader, '') : allRoles(reader, ''),
      keyOf: ({ name }: { readonly name: string }) => [name],
      show: ({ name }) => (idOf(what, name) === wanted ? { name } : null),
      filter: null,
    })
    const index = aclIndex(reader, what === 'policy' ? 'policies' : 'roles')
    return { value: rows[0]?.name ?? null, index }
  },
})

export const aclConsulMethods = { nameOf }
