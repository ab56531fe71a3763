/** What routes of sessions take and answer. */
import { Type } from 'typebox'
import { count, GoDuration, indexes, nullable, text } from '../../api/shape.ts'
import { NamespaceName } from '../namespaces/model.ts'
import { behaviors } from './model.ts'

const ServiceCheck = Type.Object({ ID: Type.String(), Namespace: Type.String() })

export const Session = Type.Object(
  {
    ID: text('UUID'),
    Name: Type.String(),
    Node: Type.String(),
    LockDelay: count('Nanoseconds'),
    Behavior: Type.Enum([...behaviors]),
    TTL: GoDuration,
    NodeChecks: Type.Array(Type.String()),
    ServiceChecks: nullable(Type.Array(ServiceCheck)),
    Checks: Type.Optional(Type.Array(Type.String())),
    Namespace: Type.Optional(NamespaceName),
    ...indexes,
  },
  { title: 'Session' },
)

export const SessionBody = Type.Partial(
  Type.Object({
    Name: Type.String(),
    Node: text('Node that it is bound to; that of the agent unless said'),
    LockDelay: Type.Union([
      text('Duration; `15s` unless said'),
      Type.Integer({ description: 'Nanoseconds' }),
    ]),
    Behavior: Type.Enum([...behaviors], { description: 'What becomes of its keys when it ends' }),
    TTL: text('Ends when it is not renewed for so long; 10s to 24h'),
    NodeChecks: Type.Array(Type.String()),
    ServiceChecks: Type.Array(Type.Partial(ServiceCheck)),
    Checks: Type.Array(Type.String()),
  }),
)

export const CreatedSession = Type.Object({ ID: text('UUID') })
