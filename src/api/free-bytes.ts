/** Memory outside of the collector's heap, given back at once. */

/** The caller is the last one to have them: they are empty afterwards. Bytes that share their memory with others stay. */
export function freeBytes(bytes: Buffer): void {
  const { buffer } = bytes
  if (!(buffer instanceof ArrayBuffer) || bytes.length !== buffer.byteLength) return
  // What is transferred to no bytes is freed, and the buffer is detached from it.
  buffer.transfer(0)
}
