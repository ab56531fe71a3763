/** What servers ask one another about the cluster key, and the answer. */
import { Type, type Static } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'

const Id = Type.String({ maxLength: 128 })

export const ClusterKeyRequest = Type.Object({
  from: Id,
  /** Ids of the keys the caller has on its disk. */
  holds: Type.Immutable(Type.Array(Id)),
  /** Which of them its operator gave it to wrap data keys with. Absent: none, or the caller is older than the member. */
  configured: Type.Optional(Id),
  /** The key it asks for; null: whichever the leader will begin with. */
  wanted: Type.Union([Id, Type.Null()]),
})
export type ClusterKeyRequest = Readonly<Static<typeof ClusterKeyRequest>>

export const ClusterKeyReply = Type.Object({ key: Type.Union([bytesSchema(1_024), Type.Null()]) })
export type ClusterKeyReply = Readonly<Static<typeof ClusterKeyReply>>
