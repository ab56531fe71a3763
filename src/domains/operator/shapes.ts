/** What routes of operators answer. */
import { Type } from 'typebox'
import { count, text } from '../../api/shape.ts'

export const RaftConfiguration = Type.Object(
  {
    Index: count('Index of the configuration'),
    Servers: Type.Array(
      Type.Object({
        ID: Type.String(),
        Node: Type.String(),
        Address: Type.String(),
        Leader: Type.Boolean(),
        Voter: Type.Boolean(),
        RaftProtocol: Type.String(),
        ProtocolVersion: Type.String(),
        Status: Type.String(),
      }),
    ),
  },
  { title: 'RaftConfiguration' },
)

export const Transferred = Type.Object({ Success: Type.Boolean() })

export const Restored = Type.Object({
  Index: count('Index of the state after it'),
  Rows: count('Rows that the archive held'),
})

/** `id` or `address`. */
export const server = {
  id: text('Id of the server'),
  address: text('Its address, host:port'),
}
