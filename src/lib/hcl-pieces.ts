/** Quoted strings and heredocs as what stands in them: texts, and sequences such as `${…}` between these. */

/** A sequence. With `${~` and `~}` the blanks of the text before it and behind it go, within the line. */
export type Sequence<Part> = {
  readonly part: Part
  readonly stripsBefore: boolean
  readonly stripsAfter: boolean
}

/** Of one line of a heredoc, up to its line end, or of a whole quoted string. */
export type Line<Part> = readonly (string | Sequence<Part>)[]

/** Blanks at the begin of every line that all lines share. Lines of blanks alone do not count. */
export function withoutIndentation<Part>(lines: readonly Line<Part>[]): readonly Line<Part>[] {
  const indents = lines
    .filter((line) => !line.every((piece) => typeof piece === 'string' && piece.trim() === ''))
    .map(([first]) => (typeof first === 'string' ? first.length - first.trimStart().length : 0))
  const shared = indents.reduce((least, indent) => Math.min(least, indent), indents[0] ?? 0)
  return lines.map((line) => {
    const [first, ...rest] = line
    return typeof first === 'string' && first !== '\n' ? [first.slice(shared), ...rest] : line
  })
}

/** Texts, none of them empty or beside another one, and parts. */
export function partsOf<Part>(lines: readonly Line<Part>[]): readonly (string | Part)[] {
  const parts: (string | Part)[] = []
  let pending = ''
  for (const line of lines) {
    let text = ''
    let stripsStart = false
    for (const piece of line) {
      if (typeof piece === 'string') {
        text += piece
        continue
      }
      pending += stripped(text, stripsStart, piece.stripsBefore)
      if (pending !== '') parts.push(pending)
      parts.push(piece.part)
      pending = ''
      text = ''
      stripsStart = piece.stripsAfter
    }
    pending += stripped(text, stripsStart, false)
  }
  if (pending !== '') parts.push(pending)
  return parts
}

function stripped(text: string, start: boolean, end: boolean): string {
  const rest = start ? text.trimStart() : text
  return end ? rest.trimEnd() : rest
}
