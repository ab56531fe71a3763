/**
 * Of which log an answer to an agent is. Indexes of one log tell the newer of two answers; those of different ones tell nothing: a
 * cluster that was begun anew, and into which a backup was restored, counts from 1 again.
 */
import { Type, type Static } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'

const ClusterId = Type.String({ minLength: 1, maxLength: 128 })
/** More than a cluster ever names. */
const predecessorsMax = 64

export const LogOrigin = Type.Object({
  cluster: ClusterId,
  /** Clusters whose log goes on as this one, recovered after the loss of their quorum; the oldest first. */
  predecessors: Type.Array(ClusterId, { maxItems: predecessorsMax }),
  /**
   * Of a cluster with predecessors: the entry from which on its state has all that is left of their log. Servers of earlier versions
   * do not tell.
   */
  beginsAt: Type.Optional(Type.Integer({ minimum: 1 })),
  /** What the cluster knows came from an archive at least once. */
  isRestored: Type.Optional(Type.Literal(true)),
})
export type LogOrigin = Readonly<Static<typeof LogOrigin>>

/** Null: this server has not heard yet of which cluster it is. */
export function originOf({ cluster, floorIndex }: Reader): LogOrigin | null {
  const { id, predecessors, beginsAt } = cluster
  if (id === '') return null
  const isRestored = floorIndex > 1
  return {
    cluster: id,
    predecessors: [...predecessors],
    ...(beginsAt !== undefined && { beginsAt }),
    ...(isRestored && { isRestored }),
  }
}
