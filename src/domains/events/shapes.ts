/** What the event stream answers. */
import { Type } from 'typebox'
import { count, mapOf, text } from '../../api/shape.ts'

const Event = Type.Object(
  {
    Topic: Type.String(),
    Type: Type.String(),
    Key: Type.String(),
    Namespace: Type.String(),
    FilterKeys: Type.Array(Type.String()),
    Index: count('Index of the log entry'),
    Payload: mapOf(Type.Unknown(), 'The record, as its own routes show it'),
  },
  { title: 'Event' },
)

/** `{}` is a heartbeat. */
export const Frame = Type.Object(
  {
    Index: Type.Optional(count('All up to this index was told')),
    Events: Type.Optional(Type.Array(Event)),
    Snapshot: Type.Optional(Type.Literal(true)),
    EndOfSnapshot: Type.Optional(Type.Literal(true)),
    Error: Type.Optional(text('Why the stream ends')),
  },
  { title: 'EventFrame' },
)
