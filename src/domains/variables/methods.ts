/** What may be asked about variables. The leader seals before it proposes; reads are opened where they arrive. */
import { Type } from 'typebox'
import { assertNever, present } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { onePage, streamed } from '../../rpc/list.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type LeaderContext,
  type Requirement,
} from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkKey, Fence, lockMoved } from '../kv/model.ts'
import { allNamespaces, checkNamespaceName } from '../namespaces/model.ts'
import {
  deleteVariable,
  putVariable,
  type Conflict,
  type DeleteVariable,
  type PutVariable,
} from './commands.ts'
import { listFilters, scanOf } from './list.ts'
import {
  Cas,
  checkItems,
  checkPath,
  itemsBytesMax,
  parseListToken,
  type Items,
  type VariableRow,
} from './model.ts'
import { listVariables, variableOf } from './queries.ts'
import { clusterKeyring } from './services.ts'
import { variables } from './table.ts'
import { leastForVariables } from './topics.ts'

/** How often a write seals anew because its key went meanwhile. */
const sealAttemptsMax = 3

/** Prefixes and tokens beyond any namespace and path together match nothing and need not be looked up. */
const listTextMax = 1_024

export type Variable = { readonly row: VariableRow; readonly items: Items }

export type Refused = {
  readonly type: 'conflict'
  /** null: there is no such variable, and the caller's `cas` says there is. */
  readonly row: VariableRow | null
  /** null without permission to read. */
  readonly items: Items | null
  readonly index: number
}

export type Written = { readonly type: 'written'; readonly row: VariableRow } | Refused
export type Deleted = { readonly type: 'deleted'; readonly index: number } | Refused

const Place = { namespace: Type.String(), path: Type.String() }
/** The lock that a write depends on. */
const Lock = { fence: Type.Union([Type.Null(), Fence]) }
const ListRange = {
  namespace: Type.String(),
  prefix: Type.String({ maxLength: listTextMax }),
  filter: Type.String(),
}

const read = defineQuery({
  kind: 'query',
  name: 'variables.read',
  args: Type.Object(Place),
  requires: (args) => requirement(args, 'read'),
  query: (reader, { namespace, path }, context) => {
    checkPlace({ namespace, path })
    const { found, index } = variableOf(reader, namespace, path)
    const value: Variable | null =
      found === null
        ? null
        : { row: found.row, items: context.service(clusterKeyring).open(reader, found.sealed) }
    return { value, index }
  },
})

const page = defineQuery({
  kind: 'query',
  name: 'variables.page',
  least: leastForVariables,
  long: true,
  args: Type.Object({
    ...ListRange,
    perPage: Type.Integer({ minimum: 1 }),
    nextToken: Type.Union([Type.Null(), Type.String({ maxLength: listTextMax })]),
  }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, args, context) => {
    const filter = listFilters.compile(args.filter)
    const sources = await listVariables(reader, listRange(args, args.nextToken))
    const value = await onePage(context, args, scanOf(sources, filter))
    return { value, index: reader.tableIndex(variables) }
  },
})

const list = defineQuery({
  kind: 'query',
  name: 'variables.list',
  least: leastForVariables,
  long: true,
  args: Type.Object({
    ...ListRange,
    nextToken: Type.Union([Type.Null(), Type.String({ maxLength: listTextMax })]),
  }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, args, context) => {
    const filter = listFilters.compile(args.filter)
    const sources = await listVariables(reader, listRange(args, args.nextToken))
    return {
      value: streamed(context, scanOf(sources, filter)),
      index: reader.tableIndex(variables),
    }
  },
})

const put = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'variables.put',
  args: Type.Object({
    ...Place,
    items: Type.Array(Type.Tuple([Type.String(), Type.String()])),
    cas: Cas,
    ...Lock,
  }),
  requires: (args) => requirement(args, 'write'),
  run: async (context, { namespace, path, items, cas, fence }): Promise<Written> => {
    checkPlace({ namespace, path })
    checkFence(context, fence)
    const checked = checkItems(items)
    for (let attempt = 1; ; attempt++) {
      const keyring = context.service(clusterKeyring)
      const ready = keyring.ready(context)
      const key = ready instanceof Promise ? await ready : ready
      const sealed = keyring.seal(key, { namespace, path }, checked)
      const timeMs = Math.floor(context.clock.wallMs())
      const args: PutVariable = { namespace, path, keyId: key.id, sealed, timeMs, cas, fence }
      const proposed = await context.propose(putVariable, args)
      const outcome = proposed.outcome
      switch (outcome.type) {
        case 'written':
          return outcome
        case 'conflict':
          return refused(context, outcome, { namespace, path }, proposed.index)
        case 'fenced':
          throw lockMoved(present(fence, 'the lock of a write that was refused for its lock'))
        case 'unknownNamespace':
          throw new MusterError(
            'invalid_argument',
            `namespace ${JSON.stringify(namespace)} does not exist: create it with PUT /v1/namespace/${namespace}`,
          )
        case 'unknownKey':
          if (attempt < sealAttemptsMax) break
          throw new MusterError('overloaded', 'the keyring changes too fast: try again')
        default:
          return assertNever(outcome)
      }
    }
  },
})

const remove = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'variables.delete',
  args: Type.Object({ ...Place, cas: Cas, ...Lock }),
  requires: (args) => requirement(args, 'destroy'),
  run: async (context, { namespace, path, cas, fence }): Promise<Deleted> => {
    checkPlace({ namespace, path })
    checkFence(context, fence)
    const args: DeleteVariable = { namespace, path, cas, fence }
    const proposed = await context.propose(deleteVariable, args)
    const outcome = proposed.outcome
    if (outcome.type === 'fenced') {
      throw lockMoved(present(fence, 'the lock of a write that was refused for its lock'))
    }
    return outcome.type === 'deleted'
      ? { type: 'deleted', index: proposed.index }
      : refused(context, outcome, { namespace, path }, proposed.index)
  },
})

function refused(
  context: LeaderContext,
  conflict: Conflict,
  place: { readonly namespace: string; readonly path: string },
  index: number,
): Refused {
  const { row, sealed } = conflict
  const readable = sealed !== null && context.may(requirement(place, 'read'))
  const items = readable ? context.service(clusterKeyring).open(context.read(), sealed) : null
  return { type: 'conflict', row, items, index: row?.modifyIndex ?? index }
}

export const variableMethods = { read, page, list, put, remove }

function requirement(
  { namespace, path }: { readonly namespace: string; readonly path: string },
  access: 'read' | 'write' | 'destroy',
): Requirement {
  return { resource: 'variables', namespace, path, access }
}

function checkPlace({
  namespace,
  path,
}: {
  readonly namespace: string
  readonly path: string
}): void {
  checkNamespaceName(namespace)
  checkPath(path)
}

/** To learn whether a lock stands is to read its key. */
function checkFence(context: LeaderContext, fence: Fence | null): void {
  if (fence === null) return
  const { namespace, key } = fence
  checkNamespaceName(namespace)
  checkKey(key)
  mustMay(context, { resource: 'key', namespace, key, access: 'read' })
}

function listRange(
  { namespace, prefix }: { readonly namespace: string; readonly prefix: string },
  nextToken: string | null,
) {
  if (namespace !== allNamespaces) checkNamespaceName(namespace)
  return { namespace, prefix, start: nextToken === null ? null : parseListToken(nextToken) }
}

/** What a request body may take: items whose every byte is escaped, and room for the rest. */
export const variableBodyBytesMax = 6 * itemsBytesMax + 128 * 1024
