/** Bytes as people write them in a table: hex digits with blanks, and text in quotes. */

/** `82 a4'Node' 01` is a map of two, the raw of four letters, a one. */
export function hex(text: string): Uint8Array {
  const parts = text.match(/'[^']*'|[0-9a-f]{2}|[^\s]/g) ?? []
  return Buffer.concat(
    parts.map((part) => {
      if (part.startsWith("'")) return Buffer.from(part.slice(1, -1))
      if (part.length !== 2) throw new Error(`${JSON.stringify(part)} is neither hex nor quoted`)
      return Buffer.from(part, 'hex')
    }),
  )
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
