/** The codec that the core is handed: the functions of this folder under the names the core gave them. */
import type { Codec } from '../core/state.ts'
import { messageBytes } from './codec.ts'
import { decodeCoordinate, encodeCoordinate } from './coordinate.ts'
import { passesFilters } from './filters.ts'
import { decodeSerfMessage, encodeSerfMessage } from './serf-codec.ts'
import { decodeTags, encodeTags } from './tags.ts'

/**
 * `test` says whether a regular expression of RE2's syntax matches anywhere in a text, in linear time: the expression
 * comes from strangers. It may throw for one it refuses; then this member does not answer.
 */
export function createCodec(test: (pattern: string, text: string) => boolean): Codec {
  return {
    sizeOf: messageBytes,
    encode: encodeSerfMessage,
    decode: decodeSerfMessage,
    encodeTags,
    decodeTags,
    encodeCoordinate,
    decodeCoordinate,
    matches: (filters, member) => passesFilters(filters, member, test),
  }
}
