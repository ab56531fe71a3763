/** Security identifiers, as Active Directory has them in `tokenGroups`: bytes in, `S-1-5-21-…` out. */

const headBytes = 8
const subAuthorityBytes = 4

/** Null: malformed, also by bytes too few or too many. */
export function sidText(bytes: Uint8Array): string | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.length < headBytes) return null
  const count = view.readUInt8(1)
  if (view.length !== headBytes + count * subAuthorityBytes) return null
  const parts = [view.readUInt8(0), view.readUIntBE(2, 6)]
  for (let at = 0; at < count; at += 1) {
    parts.push(view.readUInt32LE(headBytes + at * subAuthorityBytes))
  }
  return `S-${parts.join('-')}`
}
