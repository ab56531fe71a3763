/** The tags of a member, which travel as its meta bytes: one marker byte, then a map of text to text. */
import { MusterError } from '../../lib/errors.ts'
import { metaBytesMax } from '../core/message.ts'
import { isMap, readValue } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import { textFrom } from './text.ts'

const tagsMarker = 255
const tagBounds = { valuesMax: metaBytesMax, stringBytesMax: metaBytesMax }

/** Throws too_large over 512 bytes. No tags are no bytes. */
export function encodeTags(tags: ReadonlyMap<string, string>): Uint8Array {
  const writer = new Writer().byte(tagsMarker).map(tags.size)
  for (const [name, value] of tags) writer.text(name).text(value)
  if (writer.length > metaBytesMax) {
    throw new MusterError(
      'too_large',
      `the tags of this member need ${writer.length} bytes; at most ${metaBytesMax} are possible`,
    )
  }
  return tags.size === 0 ? new Uint8Array() : writer.finish()
}

/** Null for bytes that are no tags. Without the marker the whole is the tag `role`, as in old programs. */
export function decodeTags(meta: Uint8Array): ReadonlyMap<string, string> | null {
  const tags = new Map<string, string>()
  if (meta.length === 0) return tags
  if (meta[0] !== tagsMarker) {
    const role = textFrom(meta)
    return role === null ? null : tags.set('role', role)
  }
  const read = readValue(meta, 1, tagBounds)
  if (read.type !== 'value' || !isMap(read.value)) return null
  for (const [name, value] of read.value) {
    const text = value instanceof Uint8Array ? textFrom(value) : null
    if (text === null) return null
    tags.set(name, text)
  }
  return tags
}
