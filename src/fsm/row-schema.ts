/**
 * What schemas of rows are made of. A row of an operator's archive is checked with its table's schema before it becomes
 * part of the state, so a schema says everything that the code which reads the row relies on: types, and lengths, so that
 * no change of the row outgrows what a key or a row may have.
 */
import { Type, type TProperties } from 'typebox'

/**
 * A record without other members: what else an archive put there would come along with every change of the row, and
 * nothing bounds it. For the same reason a row is as deep as its schema, however deep this server's stack is.
 */
export function record<Members extends TProperties>(members: Members) {
  return Type.Object(members, { additionalProperties: false })
}

/** What a key can hold, and what counting never reaches. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** The entry of the log that made a row, and the one that changed it last. */
export const indexes = { createIndex: Count, modifyIndex: Count }
