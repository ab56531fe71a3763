/** Steps of a restore as they travel to the leader. */
import { Type } from 'typebox'
import { bytesSchema } from '../../fsm/codec.ts'

/** Of one block of rows, packed or not. */
export const blockBytesMax = 1024 * 1024 + 64 * 1024

const Id = Type.String({ minLength: 1, maxLength: 128 })
const Count = Type.Integer({ minimum: 0 })

export const RestoreBegin = Type.Object({ id: Id })
export const RestoreChunk = Type.Object({ id: Id, number: Count, rows: bytesSchema(blockBytesMax) })
export const RestoreCommit = Type.Object({
  id: Id,
  rows: Count,
  digest: Type.String({ maxLength: 64 }),
})
