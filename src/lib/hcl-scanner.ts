/**
 * The letters of HCL: one pass over the text that knows where it is, and the literals that are scanned as a whole
 * (names, numbers, quoted strings, heredocs). The grammar above it is `hcl.ts`.
 */
import { MusterError } from './errors.ts'
import { partsOf, withoutIndentation, type Line, type Sequence } from './hcl-pieces.ts'

/** Both count from 1; the column counts UTF-16 units. */
export type HclPosition = { readonly line: number; readonly column: number }

/**
 * Reads what is between `${` and `}` of a template, or with the sign % between `%{` and `}`; the scanner stands behind the brace, and is
 * left before the other one.
 */
export type Interpolation<Part> = (scanner: HclScanner, start: HclPosition, sign: '$' | '%') => Part

const simpleEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
}

/** Throws `invalid_argument` with file, line and column in front of the text. */
export function failAt(file: string, { line, column }: HclPosition, message: string): never {
  throw new MusterError('invalid_argument', `${file}:${line}:${column}: ${message}`)
}

export class HclScanner {
  readonly #file: string
  readonly #text: string
  #offset = 0
  #line = 1
  #lineStart = 0

  constructor(text: string, file: string) {
    this.#text = text.startsWith('\uFEFF') ? text.slice(1) : text
    this.#file = file
  }

  position(): HclPosition {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 }
  }

  /** Throws `invalid_argument` with file, line and column in front of the text. */
  fail(message: string, position: HclPosition = this.position()): never {
    return failAt(this.#file, position, message)
  }

  /** The next letter, or '' at the end of the text. */
  peek(): string {
    return this.#text.charAt(this.#offset)
  }

  atEnd(): boolean {
    return this.#offset >= this.#text.length
  }

  lookingAt(words: string): boolean {
    return this.#text.startsWith(words, this.#offset)
  }

  /** Steps over `words` if they come next; they hold no newline. */
  takeIf(words: string): boolean {
    if (!this.lookingAt(words)) return false
    this.#offset += words.length
    return true
  }

  /** As `takeIf`, where no longer name comes next. */
  takeWord(word: string): boolean {
    const after = this.#text.charAt(this.#offset + word.length)
    return !/[\p{L}\p{N}_-]/u.test(after) && this.takeIf(word)
  }

  /** What comes next, in words for an error. */
  describeNext(): string {
    if (this.atEnd()) return 'the end of the file'
    const letter = this.peek()
    return letter === '\n' || letter === '\r' ? 'the end of the line' : JSON.stringify(letter)
  }

  /** Spaces and comments up to the end of the line; a block comment may hold newlines. */
  skipSpace(): void {
    for (;;) {
      const letter = this.peek()
      if (letter === ' ' || letter === '\t' || (letter === '\r' && this.lookingAt('\r\n'))) {
        this.#offset += 1
      } else if (letter === '#' || this.lookingAt('//')) {
        const end = this.#text.indexOf('\n', this.#offset)
        this.#offset = end === -1 ? this.#text.length : end
      } else if (this.lookingAt('/*')) {
        const start = this.position()
        const end = this.#text.indexOf('*/', this.#offset + 2)
        if (end === -1) this.fail('this comment is never closed with */', start)
        this.#advanceOverLines(end + 2)
      } else {
        return
      }
    }
  }

  /** As `skipSpace`, and over newlines. */
  skipBlank(): void {
    this.skipSpace()
    while (this.takeNewline()) this.skipSpace()
  }

  takeNewline(): boolean {
    if (this.peek() !== '\n') return false
    this.#advanceOverLines(this.#offset + 1)
    return true
  }

  /** A name such as `bootstrap_expect`, or null if none comes next. */
  name(): string | null {
    return this.#match(/[\p{L}_][\p{L}\p{N}_-]*/uy)
  }

  lookingAtNumber(): boolean {
    return /-?\d/y.test(this.#text.slice(this.#offset, this.#offset + 2))
  }

  /** Digits alone, as in `list.0`, or null if none come next. */
  digits(): string | null {
    return this.#match(/\d+/y)
  }

  /** A number, or null if none comes next. Whole numbers beyond 2^53 are refused: they would change silently. */
  number(): number | null {
    const start = this.position()
    const text = this.#match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y)
    if (text === null) return null
    if (/[\p{L}\p{N}_.]/u.test(this.peek())) {
      this.fail(`a number ends before ${this.describeNext()}; write text in quotes`, start)
    }
    const value = Number(text)
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      this.fail(`the number ${text} is too large to be kept exactly`, start)
    }
    return value
  }

  /** A quoted string, escapes resolved; the next letter is its opening quote. */
  quoted(): string {
    return this.quotedParts(refusesTemplates).join('')
  }

  /** As `quoted`, with what `interpolation` made of each `${…}` and `%{…}` between the texts. */
  quotedParts<Part>(interpolation: Interpolation<Part>): readonly (string | Part)[] {
    const start = this.position()
    this.#offset += 1
    const pieces: (string | Sequence<Part>)[] = []
    for (;;) {
      const plain = this.#match(/[^"\\\n$%]+/y)
      if (plain !== null) pieces.push(plain)
      const letter = this.peek()
      if (letter === '' || letter === '\n') this.fail('this string is never closed', start)
      if (letter === '"') {
        this.#offset += 1
        return partsOf([pieces])
      }
      pieces.push(letter === '\\' ? this.#escape() : this.#dollar(interpolation))
    }
  }

  /** A heredoc's text; the next letters are `<<`. With `<<-` the indentation that all lines share goes. */
  heredoc(): string {
    return this.heredocParts(refusesTemplates).join('')
  }

  /** As `heredoc`, with what `interpolation` made of each `${…}` and `%{…}` between the texts. */
  heredocParts<Part>(interpolation: Interpolation<Part>): readonly (string | Part)[] {
    const start = this.position()
    this.#offset += 2
    const indented = this.takeIf('-')
    const marker = this.name()
    if (marker === null) this.fail('a heredoc starts with a marker, as in <<EOF')
    this.takeIf('\r')
    if (!this.takeNewline()) this.fail(`the heredoc's marker ${marker} must end its line`)
    const lines: Line<Part>[] = []
    for (;;) {
      if (this.atEnd()) this.fail(`the heredoc is never closed by a line ${marker}`, start)
      // The newline after the marker stays: it ends the attribute.
      if (this.#takeLineOf(marker)) break
      lines.push(this.#templateLine(interpolation))
      this.takeNewline()
    }
    return partsOf(indented ? withoutIndentation(lines) : lines)
  }

  /** How far the text has been read; see `textSince`. */
  offset(): number {
    return this.#offset
  }

  textSince(offset: number): string {
    return this.#text.slice(offset, this.#offset)
  }

  #takeLineOf(marker: string): boolean {
    const newline = this.#text.indexOf('\n', this.#offset)
    const end = newline === -1 ? this.#text.length : newline
    if (this.#text.slice(this.#offset, end).trim() !== marker) return false
    this.#offset = end
    return true
  }

  /** With a newline as its end, whatever it was. */
  #templateLine<Part>(interpolation: Interpolation<Part>): Line<Part> {
    const pieces: (string | Sequence<Part>)[] = []
    for (;;) {
      const plain = this.#match(/[^\n$%]+/y)
      if (plain !== null) pieces.push(plain)
      const letter = this.peek()
      if (letter === '' || letter === '\n') break
      pieces.push(this.#dollar(interpolation))
    }
    const last = pieces.at(-1)
    if (typeof last === 'string' && last.endsWith('\r')) {
      pieces[pieces.length - 1] = last.slice(0, -1)
    }
    pieces.push('\n')
    return pieces
  }

  #escape(): string {
    const start = this.position()
    const letter = this.#text.charAt(this.#offset + 1)
    this.#offset += 2
    const simple = simpleEscapes[letter]
    if (simple !== undefined) return simple
    const digits =
      letter === 'u'
        ? this.#match(/[0-9A-Fa-f]{4}/y)
        : letter === 'U'
          ? this.#match(/[0-9A-Fa-f]{8}/y)
          : null
    const code = digits === null ? Number.NaN : Number.parseInt(digits, 16)
    if (!(code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) {
      this.fail('unknown escape; there are \\n \\r \\t \\" \\\\ \\uNNNN and \\UNNNNNNNN', start)
    }
    return String.fromCodePoint(code)
  }

  /** `$${` and `%%{` stand for `${` and `%{`; a template itself is never taken as text. */
  #dollar<Part>(interpolation: Interpolation<Part>): string | Sequence<Part> {
    const sign = this.peek() === '%' ? '%' : '$'
    if (this.takeIf(`${sign}${sign}{`)) return `${sign}{`
    if (!this.lookingAt(`${sign}{`)) {
      this.#offset += 1
      return sign
    }
    const start = this.position()
    this.#offset += 2
    const stripsBefore = this.takeIf('~')
    const part = interpolation(this, start, sign)
    const stripsAfter = this.takeIf('~')
    if (!this.takeIf('}')) this.fail(`${sign}{…} ends with }, not with ${this.describeNext()}`)
    return { part, stripsBefore, stripsAfter }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#offset
    const found = pattern.exec(this.#text)
    if (found === null) return null
    this.#offset += found[0].length
    return found[0]
  }

  /** Looks at what is passed over alone: the rest of the file may be long, and is asked about once for each comment. */
  #advanceOverLines(offset: number): void {
    const passed = this.#text.slice(this.#offset, offset)
    for (let at = passed.indexOf('\n'); at !== -1; at = passed.indexOf('\n', at + 1)) {
      this.#line += 1
      this.#lineStart = this.#offset + at + 1
    }
    this.#offset = offset
  }
}

function refusesTemplates(scanner: HclScanner, start: HclPosition, sign: '$' | '%'): never {
  return scanner.fail(
    `templates such as ${sign}{…} are not evaluated here; write ${sign}${sign}{ for the text ${sign}{`,
    start,
  )
}
