/** What routes of user events answer. */
import { Type } from 'typebox'
import { count, nullable, text } from '../../api/shape.ts'

export const UserEvent = Type.Object(
  {
    ID: Type.String(),
    Name: Type.String(),
    Payload: nullable(text('Base64')),
    NodeFilter: Type.String(),
    ServiceFilter: Type.String(),
    TagFilter: Type.String(),
    Version: Type.Integer(),
    LTime: count('Lamport time; 0 in the reply to the one who fires it'),
  },
  { title: 'UserEvent' },
)
