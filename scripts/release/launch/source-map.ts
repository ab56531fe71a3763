/**
 * Reads positions out of a source map, format version 3. One pass over its mappings for all positions of a stack trace, and no
 * table of them: that of the bundle would take 200 MiB and stop the process for half a second.
 */

/** Both from 1, as in a stack trace. */
export type Position = { readonly line: number; readonly column: number }
export type SourcePosition = Position & { readonly source: string }

export type SourceMapText = {
  readonly sources: readonly string[]
  readonly mappings: string
}

const semicolon = 59
const comma = 44
/** A digit has six bits: five of the number, and whether it goes on. */
const digitBits = 5
const goesOn = 32

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const digits = new Uint8Array(128)
for (let value = 0; value < alphabet.length; value += 1) digits[alphabet.charCodeAt(value)] = value

/** Where each position came from, in the same order; null where the map does not know. */
export function sourcesOf(
  { sources, mappings }: SourceMapText,
  positions: readonly Position[],
): readonly (SourcePosition | null)[] {
  const found: (SourcePosition | null)[] = positions.map(() => null)
  const lastLine = Math.max(0, ...positions.map(({ line }) => line))
  let line = 1
  let wanted = wantedIn(positions, line)
  let at = 0
  let column = 0
  let sourceIndex = 0
  let sourceLine = 0
  let sourceColumn = 0
  const number = (): number => {
    let value = 0
    let shift = 0
    for (;;) {
      const digit = digits[mappings.charCodeAt(at)] ?? 0
      at += 1
      value |= (digit & (goesOn - 1)) << shift
      shift += digitBits
      if ((digit & goesOn) === 0) return (value & 1) === 1 ? -(value >>> 1) : value >>> 1
    }
  }
  const isInside = (): boolean => {
    const code = mappings.charCodeAt(at)
    return at < mappings.length && code !== comma && code !== semicolon
  }
  while (at < mappings.length && line <= lastLine) {
    const code = mappings.charCodeAt(at)
    if (code === semicolon) {
      line += 1
      column = 0
      wanted = wantedIn(positions, line)
      at += 1
    } else if (code === comma) {
      at += 1
    } else {
      column += number()
      let mapped = false
      if (isInside()) {
        sourceIndex += number()
        sourceLine += number()
        sourceColumn += number()
        mapped = true
      }
      if (isInside()) number()
      const source = sources[sourceIndex] ?? ''
      for (const { index, column: limit } of wanted) {
        // The last mapping at or before a position is its own.
        if (column > limit) continue
        found[index] = mapped ? { source, line: sourceLine + 1, column: sourceColumn + 1 } : null
      }
    }
  }
  return found
}

type Wanted = { readonly index: number; readonly column: number }

function wantedIn(positions: readonly Position[], line: number): readonly Wanted[] {
  return positions.flatMap((position, index) =>
    position.line === line ? [{ index, column: position.column - 1 }] : [],
  )
}
