/** Aligned columns and lists of names and values. What comes from a server cannot steer the terminal. */
import type { Paint, Style } from './style.ts'

/** A cell, and how it looks once it is as wide as its column. */
export type Cell = string | { readonly text: string; readonly paint: Paint }

const gap = '  '

/** A heading, then a line per row; columns are as wide as their widest cell, the last is not filled up. */
export function table(
  style: Style,
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const painted = heading.map((text): Cell => ({ text, paint: style.heading }))
  const lines = [painted, ...rows].map((row) => row.map(cellOf))
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column]?.text ?? ''))),
  )
  return lines
    .map((line) => {
      const cells = line.map(({ text, paint }, column) => {
        const isLast = column === line.length - 1
        return paint(text) + (isLast ? '' : ' '.repeat((widths[column] ?? 0) - widthOf(text)))
      })
      return `${cells.join(gap).trimEnd()}\n`
    })
    .join('')
}

/** `Name  = value`, one a line. */
export function pairs(rows: readonly (readonly [string, Cell])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => widthOf(visible(name))))
  return rows
    .map(([name, cell]) => {
      const { text, paint } = cellOf(cell)
      const shown = visible(name)
      return `${shown}${' '.repeat(width - widthOf(shown))} = ${paint(text)}\n`
    })
    .join('')
}

/** As it is but for what could steer a terminal: for texts of more than one line. */
export function visibleLines(text: string): string {
  return text
    .split(/(\r?\n|\t)/)
    .map((part, at) => (at % 2 === 1 ? part : visible(part)))
    .join('')
}

/** As `visible`, but for the line breaks of what is shown line by line. */
export function visibleByLine(text: string): string {
  return text.split('\n').map(visible).join('\n')
}

/** Line breaks, escapes and other control characters as they are written in JSON. */
export function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (letter) => {
    const known: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
    return known[letter] ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function cellOf(cell: Cell): { readonly text: string; readonly paint: Paint } {
  return typeof cell === 'string'
    ? { text: visible(cell), paint: (text) => text }
    : { text: visible(cell.text), paint: cell.paint }
}

function widthOf(text: string): number {
  let width = 0
  for (const letter of text) width += /\p{Mn}/u.test(letter) ? 0 : isWide(letter) ? 2 : 1
  return width
}

/** East Asian wide letters and pictures take two columns. */
function isWide(letter: string): boolean {
  return /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\uff01-\uff60]/u.test(
    letter,
  )
}
