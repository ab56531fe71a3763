/** What may be asked about namespaces. */
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { onePage, Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { deleteNamespace, putNamespace } from './commands.ts'
import { checkNamespaceSpec, isNamespaceName, type NamespaceRow } from './model.ts'
import { namespaceOf, namespacesMax } from './queries.ts'
import { namespaceFilters, shownNamespace } from './shown.ts'
import { namespaces } from './table.ts'

/** As it was written: `checkNamespaceSpec` says what is wrong with it. */
const Spec = Type.Object({
  name: Type.String(),
  description: Type.String(),
  meta: Type.Array(Type.Tuple([Type.String(), Type.String()])),
})

export const namespacesList = defineQuery({
  kind: 'query',
  name: 'namespaces.list',
  args: Type.Object(Page),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { prefix, filter, nextToken, perPage }, context) => {
    // A list that would be longer is cut: people make namespaces, not programs.
    const page = { nextToken, perPage: perPage ?? namespacesMax }
    const value = await onePage(context, page, {
      pages: reader.pages(namespaces, { startsWith: prefix }),
      keyOf: namespaces.key,
      show: (row) =>
        context.may({ resource: 'namespace', namespace: row.name, access: 'read' }) ? row : null,
      filter: namespaceFilters.compile(filter),
      recordOf: shownNamespace,
    })
    return { value, index: reader.tableIndex(namespaces) }
  },
})

export const namespacesRead = defineQuery({
  kind: 'query',
  name: 'namespaces.read',
  args: Type.Object({ name: Type.String() }),
  requires: ({ name }) => ({ resource: 'namespace', namespace: name, access: 'read' }),
  query: (reader, { name }) => namespaceOf(reader, name),
})

export const namespacesPut = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'namespaces.put',
  args: Spec,
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, args): Promise<NamespaceRow> => {
    const { outcome } = await context.propose(putNamespace, checkNamespaceSpec(args))
    return outcome.row
  },
})

export const namespacesDelete = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'namespaces.delete',
  args: Type.Object({ name: Type.String() }),
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, { name }): Promise<{ readonly index: number }> => {
    if (!isNamespaceName(name)) throw new MusterError('not_found', 'namespace not found')
    const proposed = await context.propose(deleteNamespace, { name })
    const outcome = proposed.outcome
    switch (outcome.type) {
      case 'deleted':
        return { index: proposed.index }
      case 'unknown':
        throw new MusterError('not_found', 'namespace not found')
      case 'default':
        throw new MusterError('invalid_argument', 'the default namespace cannot be deleted')
      case 'occupied':
        throw new MusterError(
          'conflict',
          `namespace ${JSON.stringify(name)} still has ${outcome.by.join(' and ')}: delete them first`,
        )
      default:
        return assertNever(outcome)
    }
  },
})

export const namespaceMethods = [namespacesList, namespacesRead, namespacesPut, namespacesDelete]
