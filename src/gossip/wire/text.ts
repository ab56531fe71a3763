/**
 * Names and other text of the protocol as bytes, and back. `wire/` turns bytes of other programs into the unions of
 * `core/message.ts` and back; it imports the core's messages and `lib`, and the rest of `gossip` imports it.
 *
 * The invariant of the folder: whatever bytes come in, no function that reads them throws, and what it hands out is
 * checked and bounded.
 */

// Fatal, and keeping the mark: two names that differ in bytes must never become one text.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Field names and most members' names: faster by hand than by calling the decoder. */
const shortBytesMax = 24

/** Null when the bytes are not UTF-8. */
export function textFrom(bytes: Uint8Array): string | null {
  if (bytes.length <= shortBytesMax && bytes.every((byte) => byte < 0x80)) {
    return String.fromCharCode(...bytes)
  }
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/** Half a surrogate pair becomes U+FFFD. */
export function textBytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8')
}

/** Bytes that share no memory with `bytes`: a view would keep a whole received buffer alive. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
