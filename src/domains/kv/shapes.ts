/** What routes of keys and of transactions take and answer. */
import { Type } from 'typebox'
import { count, flag, indexes, nullable, text } from '../../api/shape.ts'
import { Check, Node, Service } from '../catalog/shapes.ts'
import { NamespaceName } from '../namespaces/model.ts'

export const Entry = Type.Object(
  {
    LockIndex: count('How often the key was locked'),
    Key: Type.String(),
    Flags: Type.Integer({ minimum: 0, description: 'Up to 2^64-1' }),
    Value: nullable(text('Base64; null when it is empty or was not asked for')),
    Session: Type.Optional(text('The session that holds the lock')),
    Namespace: Type.Optional(NamespaceName),
    ...indexes,
  },
  { title: 'KVEntry' },
)

export const Names = Type.Array(text('Key, or its part up to the separator'))

const KeyOperation = Type.Object({
  Verb: Type.Enum([
    'set',
    'cas',
    'lock',
    'unlock',
    'get',
    'get-tree',
    'check-index',
    'check-session',
    'check-not-exists',
    'delete',
    'delete-tree',
    'delete-cas',
  ]),
  Key: Type.String(),
  Value: Type.Optional(text('Base64')),
  Flags: Type.Optional(count('Up to 2^64-1')),
  Index: Type.Optional(count('ModifyIndex that the key must have')),
  Session: Type.Optional(text('Session that locks or unlocks')),
  Namespace: Type.Optional(NamespaceName),
})

const catalogVerb = Type.Enum(['set', 'cas', 'get', 'delete', 'delete-cas'])

/** Each operation has one of the members. */
export const Operations = Type.Array(
  Type.Partial(
    Type.Object(
      {
        KV: KeyOperation,
        Node: Type.Object({ Verb: catalogVerb, Node: Type.Partial(Node) }),
        Service: Type.Object({
          Verb: catalogVerb,
          Node: Type.String(),
          Service: Type.Partial(Service),
        }),
        Check: Type.Object({ Verb: catalogVerb, Check: Type.Partial(Check) }),
      },
      { description: 'Exactly one of the members' },
    ),
  ),
)

const Result = Type.Partial(Type.Object({ KV: Entry, Node, Service, Check }))

export const TxnResult = Type.Object({
  Results: Type.Array(Result),
  Errors: Type.Null(),
  Index: Type.Optional(count('Of a transaction that only reads')),
  LastContact: Type.Optional(count('Milliseconds, of a transaction that only reads')),
  KnownLeader: Type.Optional(flag('Of a transaction that only reads')),
})

export const TxnFailure = Type.Object({
  Results: Type.Null(),
  Errors: Type.Array(
    Type.Object({ OpIndex: count('Which operation, from 0'), What: Type.String() }),
  ),
})
