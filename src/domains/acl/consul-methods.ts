/** Names of policies and roles by the ids that Consul's tools know them by. */
import { Type } from 'typebox'
import { defineQuery } from '../../rpc/method.ts'
import { idOf, managementPolicy, managementPolicyId } from './consul-shown.ts'
import { onePage } from './listing.ts'

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
    const { rows } = await onePage({
      pages: what === 'policy' ? allPolicies(reader, '') : allRoles(reader, ''),
      isWanted: ({ name }: { readonly name: string }) => idOf(what, name) === wanted,
      keyOf: ({ name }) => name,
      show: ({ name }) => ({ name }),
      filter: null,
      page: { perPage: 1, nextToken: null },
      signal: context.signal,
    })
    const index = aclIndex(reader, what === 'policy' ? 'policies' : 'roles')
    return { value: rows[0]?.name ?? null, index }
  },
})

export const aclConsulMethods = { nameOf }
