/** The pieces of `source` as one, or null once they have over `bytesMax` bytes: then the source is ended. Rejects as the source does. */
export async function gather(
  source: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer | null> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of source) {
    length += piece.length
    if (length > bytesMax) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length)
}
