/** What is sealed into a batch token: all that a token's row has, but for what is drawn. */
import { Type, type Static } from 'typebox'
import { record } from '../../fsm/row-schema.ts'
import { hashLengthMax, IssuedToken } from './model.ts'

const { hash: _hash, accessor: _accessor, parent: _parent, ...members } = IssuedToken.properties

/** `hash` and `accessor` are not drawn for it, and its parent is found by the hash of the parent's secret. */
export const SealedToken = record({
  ...members,
  parentHash: Type.Union([Type.Null(), Type.String({ maxLength: hashLengthMax })]),
})
export type SealedToken = Readonly<Static<typeof SealedToken>>
