/** What may be asked about keys. The leader judges lock delays by its clock, and chooses the time, before it proposes. */
import { Type } from 'typebox'
import { present } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { Page } from '../../rpc/list.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type QueryContext,
  type Requirement,
} from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkNamespaceName, NamespaceName } from '../namespaces/model.ts'
import { writeKey, type WriteKeys } from './commands.ts'
import { judgeDelays } from './judged-delays.ts'
import { listEntries, listNames } from './list.ts'
import {
  checkKey,
  checkPrefix,
  Fence,
  Key,
  keyLengthMax,
  lockMoved,
  txnOperationsMax,
} from './model.ts'
import { evaluate, loadOperations } from './operation-commands.ts'
import { Operation, readVerbs, type OperationsOutcome, type Verb } from './operation-model.ts'
import { evaluateReads, keyOf, storeIndex } from './queries.ts'
import { leastForKeys } from './topics.ts'

const Place = { namespace: NamespaceName, key: Key }
const ListArgs = { filter: Page.filter, perPage: Page.perPage, nextToken: Page.nextToken }
const Operations = Type.Array(Operation, { maxItems: txnOperationsMax })
const treeVerbs: ReadonlySet<Verb> = new Set<Verb>(['get-tree', 'delete-tree'])

export const kvRead = defineQuery({
  kind: 'query',
  name: 'kv.read',
  // Of a key that is not there the index is that of the whole store.
  ownChanges: true,
  args: Type.Object(Place),
  requires: ({ namespace, key }) => ({ resource: 'key', namespace, key, access: 'read' }),
  query: (reader, { namespace, key }) => {
    checkNamespaceName(namespace)
    checkKey(key)
    return keyOf(reader, { namespace, key })
  },
})

/** Of a prefix, values and all. What the caller may not read is left out. */
export const kvList = defineQuery({
  kind: 'query',
  name: 'kv.list',
  least: leastForKeys,
  long: true,
  args: Type.Object({ ...Place, ...ListArgs }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { namespace, key, ...args }, context) => {
    checkNamespaceName(namespace)
    checkPrefix(key)
    return listEntries(reader, { namespace, key }, args, context)
  },
})

export const kvNames = defineQuery({
  kind: 'query',
  name: 'kv.names',
  least: leastForKeys,
  long: true,
  args: Type.Object({
    ...Place,
    ...ListArgs,
    separator: Type.String({ maxLength: keyLengthMax }),
  }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { namespace, key, separator, ...args }, context) => {
    checkNamespaceName(namespace)
    checkPrefix(key)
    return listNames(reader, { namespace, key }, separator, args, context)
  },
})

/** A transaction that only reads. */
export const kvReadTxn = defineQuery({
  kind: 'query',
  name: 'kv.readTxn',
  args: Type.Object({ operations: Operations }),
  requires: () => ({ resource: 'none' }),
  query: async (
    reader,
    { operations },
    context,
  ): Promise<{
    readonly value: OperationsOutcome
    readonly index: number
  }> => {
    checkOperations(operations)
    assertMayAll(context, operations)
    return { value: await evaluateReads(reader, operations), index: storeIndex(reader) }
  },
})

/** Operations that take place all or not at all, and only while the lock that they depend on stands. */
export const kvWrite = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'kv.write',
  args: Type.Object({ operations: Operations, fence: Type.Union([Type.Null(), Fence]) }),
  requires: ({ operations }) => {
    const [only] = operations
    return only !== undefined && operations.length === 1
      ? requirementOf(only)
      : { resource: 'none' }
  },
  run: async (context, { operations, fence }): Promise<OperationsOutcome> => {
    checkOperations(operations)
    if (operations.length !== 1) assertMayAll(context, operations)
    if (fence !== null) checkFence(context, fence)
    const { times, heldBackAt } = judgeDelays(context, operations)
    if (heldBackAt !== null) {
      // With all that is wrong beside the delay.
      const loaded = await loadOperations(context.read(), operations)
      const { outcome } = evaluate(heldBackAt, operations, loaded)
      if (outcome.type === 'refused') return outcome
    }
    const args: WriteKeys = { operations, fence, ...times }
    const { outcome } = await context.propose(writeKey, args)
    return settled<OperationsOutcome>(outcome, fence)
  },
})

export const kvMethods = [kvRead, kvList, kvNames, kvReadTxn, kvWrite]

export function requirementOf({ type, namespace, key }: Operation): Requirement {
  const access = readVerbs.has(type) ? 'read' : 'write'
  return treeVerbs.has(type)
    ? { resource: 'key', namespace, key, access, prefix: true }
    : { resource: 'key', namespace, key, access }
}

function assertMayAll(context: QueryContext, operations: readonly Operation[]): void {
  for (const operation of operations) {
    mustMay(context, requirementOf(operation))
  }
}

export function checkOperations(operations: readonly Operation[]): void {
  for (const { type, namespace, key } of operations) {
    checkNamespaceName(namespace)
    if (treeVerbs.has(type)) checkPrefix(key)
    else checkKey(key)
  }
}

/** To learn whether a lock stands is to read its key. */
export function checkFence(context: QueryContext, { namespace, key }: Fence): void {
  checkNamespaceName(namespace)
  checkKey(key)
  mustMay(context, { resource: 'key', namespace, key, access: 'read' })
}

/** What an entry came to. Throws for a lock that moved and for a namespace that is not there. */
export function settled<Judged extends { readonly type: 'done' | 'refused' }>(
  outcome:
    | Judged
    | { readonly type: 'fenced' }
    | { readonly type: 'unknownNamespace'; readonly namespace: string },
  fence: Fence | null,
): Judged {
  switch (outcome.type) {
    case 'fenced':
      throw lockMoved(present(fence, 'the lock of a write that was refused for its lock'))
    case 'unknownNamespace':
      throw unknownNamespace(outcome.namespace)
    default:
      return outcome
  }
}

function unknownNamespace(name: string): MusterError {
  return new MusterError(
    'invalid_argument',
    `namespace ${JSON.stringify(name)} does not exist: create it with PUT /v1/namespace/${name}`,
  )
}
