/**
 * The words of a template in the language of Go's `text/template`, as far as Nomad's users write it after `-t` and in
 * jobs: text, and between `{{` and `}}` fields, variables, texts, numbers, parentheses, pipes. `{{-` and `-}}` trim blanks.
 */
import { refuse } from './fault.ts'

export type Token =
  | { readonly type: 'field'; readonly path: readonly string[] }
  /** Fields of what a parenthesis holds: `(index . 0).Name`. */
  | { readonly type: 'chain'; readonly path: readonly string[] }
  | { readonly type: 'variable'; readonly name: string; readonly path: readonly string[] }
  | { readonly type: 'word'; readonly word: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'number'; readonly value: number | bigint }
  | { readonly type: 'sign'; readonly sign: string }

export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'action'
      readonly tokens: readonly Token[]
      readonly source: string
      readonly line: number
    }

/** What stands around an action. */
export type Delims = { readonly left: string; readonly right: string }
export const delimsDefault: Delims = { left: '{{', right: '}}' }

/** Where a scanner or a parser is. */
export type Position = { at: number; line: number }

/** Text and actions in turn; comments are gone, and blanks that were to be trimmed. `position.line` follows. */
export function scanTemplate(
  template: string,
  { left, right }: Delims,
  position: Position,
): readonly Piece[] {
  const pieces: Piece[] = []
  const close = literal(right)
  const patterns = { ...words, end: new RegExp(`(\\s+-)?${close}`, 'y') }
  const commentPattern = new RegExp(`^\\s*/\\*[^]*?\\*/\\s*?(\\s-)?${close}`)
  let trimNext = false
  let at = 0
  while (at < template.length) {
    const open = template.indexOf(left, at)
    const textEnd = open < 0 ? template.length : open
    let text = template.slice(at, textEnd)
    position.line += newlines(text)
    if (trimNext) text = text.trimStart()
    const afterLeft = template.slice(open + left.length, open + left.length + 2)
    const trimsBefore = open >= 0 && /^-\s/.test(afterLeft)
    if (trimsBefore) text = text.trimEnd()
    if (text !== '') pieces.push({ type: 'text', text })
    if (open < 0) break
    const start = open + left.length + (trimsBefore ? 1 : 0)
    const comment = commentPattern.exec(template.slice(start))
    if (comment !== null) {
      position.line += newlines(comment[0])
      at = start + comment[0].length
      trimNext = comment[1] !== undefined
      continue
    }
    const { tokens, end, trims } = scanAction(template, { open, start, right }, patterns)
    const source = template.slice(open, end)
    pieces.push({ type: 'action', tokens, source, line: position.line })
    position.line += newlines(source)
    at = end
    trimNext = trims
  }
  return pieces
}

function newlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** As a regular expression. */
function literal(text: string): string {
  return text.replaceAll(/[^\w\s]/g, '\\$&')
}

type Action = { readonly tokens: readonly Token[]; readonly end: number; readonly trims: boolean }

const words = {
  blank: /\s+/y,
  field: /(?:\.[\p{L}_][\p{L}\p{N}_]*)+|\.(?![\p{L}\p{N}_])/uy,
  variable: /\$([\p{L}_][\p{L}\p{N}_]*)?((?:\.[\p{L}_][\p{L}\p{N}_]*)*)/uy,
  number: /[+-]?\d+(?:\.\d+)?(?![\p{L}\p{N}_.])/uy,
  word: /[\p{L}_][\p{L}\p{N}_]*/uy,
  quoted: /"(?:[^"\\\n]|\\.)*"/y,
  raw: /`[^`]*`/y,
  sign: /:=|[=|(),]/y,
} as const

type Patterns = Readonly<Record<keyof typeof words | 'end', RegExp>>

function scanAction(
  template: string,
  place: { readonly open: number; readonly start: number; readonly right: string },
  patterns: Patterns,
): Action {
  const { open, start, right } = place
  const tokens: Token[] = []
  let at = start
  const take = (name: keyof Patterns): RegExpExecArray | null => {
    const pattern = patterns[name]
    pattern.lastIndex = at
    const match = pattern.exec(template)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  for (;;) {
    const end = take('end')
    if (end !== null) return { tokens, end: at, trims: end[1] !== undefined }
    if (take('blank') !== null) continue
    const isChained = template[at - 1] === ')'
    const token = scanToken(take)
    if (token !== null) {
      const chains = isChained && token.type === 'field' && token.path.length > 0
      tokens.push(chains ? { type: 'chain', path: token.path } : token)
      continue
    }
    const shown = show(template.slice(open))
    if (at >= template.length) refuse(`${shown} is never closed with ${right}`)
    refuse(`${show(template.slice(at))} is not understood in ${shown}`)
  }
}

function scanToken(take: (name: keyof Patterns) => RegExpExecArray | null): Token | null {
  const number = take('number')
  if (number !== null) {
    const text = number[0].replace(/^\+/, '')
    return { type: 'number', value: text.includes('.') ? Number(text) : BigInt(text) }
  }
  const field = take('field')
  if (field !== null) return { type: 'field', path: pathOf(field[0]) }
  const variable = take('variable')
  if (variable !== null) {
    return { type: 'variable', name: variable[1] ?? '', path: pathOf(variable[2] ?? '') }
  }
  const quoted = take('quoted')
  if (quoted !== null) return { type: 'text', text: unquote(quoted[0]) }
  const raw = take('raw')
  if (raw !== null) return { type: 'text', text: raw[0].slice(1, -1) }
  const word = take('word')
  if (word !== null) return { type: 'word', word: word[0] }
  const sign = take('sign')
  return sign === null ? null : { type: 'sign', sign: sign[0] }
}

function pathOf(text: string): readonly string[] {
  return text.split('.').filter((name) => name !== '')
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
}

function unquote(text: string): string {
  return text
    .slice(1, -1)
    .replaceAll(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g, (whole, rest: string) =>
      rest.length > 1
        ? String.fromCharCode(Number.parseInt(rest.slice(1), 16))
        : (escapes[rest] ?? refuse(`${whole} is no escape of a text`)),
    )
}

function show(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
